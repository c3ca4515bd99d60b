//! Installs missing needs: packages, folders of the cache, builds.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::command::{CommandError, LoggedCommand};
use super::environment::Environment;
use super::interrupt::Interrupt;
use super::missing::{Missing, Remedy};
use super::packages;
use super::policy::Policy;
use super::recipe::Recipe;
use super::step::ProvisionStep;
use super::subject_provision::{PlannedStep, Provision};
use crate::locked_file::{Hold, LockedFile};
use crate::process::log_tail::{SHOWN_LINES, log_tail};

/// Why an installation is incomplete.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("abx installs nothing more until you do this by hand:{}", lines(.0))]
    ByHand(Vec<Missing>),
    #[error("{0}")]
    Command(Box<FailedCommand>),
    #[error(
        "every command succeeded, but this is still missing:{}\nTheir output: {}", lines(missing),
        log.display()
    )]
    StillMissing { missing: Vec<Missing>, log: PathBuf },
    #[error(
        "{subject}: {} changed while it was built. Let the build's command write to {{build}} \
         and nowhere else, and try again", folder.display()
    )]
    SourcesChanged { subject: String, folder: PathBuf },
    #[error("cannot {what} {}, which keeps services from starting meanwhile: {source}{}",
        path.display(), advice(source))]
    Policy {
        path: PathBuf,
        what: &'static str,
        source: io::Error,
    },
    #[error(
        "{}: {source}. Make room there, or set XDG_CACHE_HOME to another folder", path.display()
    )]
    Cache { path: PathBuf, source: io::Error },
    #[error("cannot watch for Ctrl-C: {0}")]
    Signals(io::Error),
    #[error("stopped; a half-finished installation starts over next time")]
    Interrupted,
}

/// A command that failed.
#[derive(Debug, thiserror::Error)]
#[error(
    "{subject}: `{command}` failed ({source}){}\nAll of its output: {}", shown(.output),
    log.display()
)]
pub struct FailedCommand {
    pub subject: String,
    /// The command as a user would type it.
    pub command: String,
    pub source: CommandError,
    /// The end of its output.
    pub output: String,
    pub log: PathBuf,
}

/// The file that is locked while something is installed into a cache.
const LOCK: &str = "lock";
/// The output of the system's own installer.
const PACKAGES_LOG: &str = "packages.log";
/// The output of the engine that fetches images.
const IMAGES_LOG: &str = "images.log";
/// How often abx checks whether another abx is done.
const LOOK_EVERY: Duration = Duration::from_millis(100);

struct Installation<'a> {
    notify: &'a mut dyn FnMut(&str),
    interrupt: Interrupt,
    /// Whether apt's package lists are fresh.
    is_updated: bool,
}

/// Installs everything that is missing, subject by subject and in the order of their needs.
/// `notify` receives one line for each command before it runs.
///
/// No package starts a service. Meanwhile, Ctrl-C, SIGTERM and SIGHUP end only the installation and
/// the command that runs.
///
/// # Errors
/// One [`InstallError`] for each way to fail. [`InstallError::ByHand`] comes before anything is
/// changed, if the survey knew of that need. Otherwise everything that was installed stays, and the
/// next call continues from there.
pub fn install(provisions: &[Provision], notify: &mut dyn FnMut(&str)) -> Result<(), InstallError> {
    if provisions
        .iter()
        .all(|provision| provision.missing().is_empty())
    {
        return Ok(());
    }
    let interrupt = Interrupt::watch().map_err(InstallError::Signals)?;
    install_until(interrupt, provisions, notify)
}

/// As [`install`], until `interrupt` stops it.
pub(super) fn install_until(
    interrupt: Interrupt,
    provisions: &[Provision],
    notify: &mut dyn FnMut(&str),
) -> Result<(), InstallError> {
    let by_hand: Vec<Missing> = provisions
        .iter()
        .flat_map(Provision::missing)
        .filter(|missing| matches!(missing.remedy, Remedy::ByHand(_) | Remedy::Bring(_)))
        .cloned()
        .collect();
    if !by_hand.is_empty() {
        return Err(InstallError::ByHand(by_hand));
    }
    let Some(first) = provisions.first() else {
        return Ok(());
    };
    let mut work = Installation {
        notify,
        interrupt,
        is_updated: false,
    };
    let _lock = work.lock(&first.cache)?;
    for provision in provisions {
        for planned in &provision.steps {
            work.take_step(provision, planned)?;
        }
    }
    // Even if the last command succeeded, the user wants to stop.
    if work.interrupt.is_signalled() {
        return Err(InstallError::Interrupted);
    }
    Ok(())
}

impl Installation<'_> {
    /// Makes other installations into the same cache wait.
    fn lock(&mut self, cache: &Path) -> Result<LockedFile, InstallError> {
        let path = cache.join(LOCK);
        let failed = |source| InstallError::Cache {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(cache).map_err(failed)?;
        let mut has_notified = false;
        loop {
            let file = File::create(&path).map_err(failed)?;
            if let Some(file) = LockedFile::take(file, Hold::Alone).map_err(failed)? {
                return Ok(file);
            }
            if self.interrupt.is_signalled() {
                return Err(InstallError::Interrupted);
            }
            if !has_notified {
                (self.notify)("waiting for another abx to finish installing");
                has_notified = true;
            }
            sleep(LOOK_EVERY);
        }
    }

    /// Takes one step, unless earlier steps have made it unnecessary.
    fn take_step(
        &mut self,
        provision: &Provision,
        planned: &PlannedStep,
    ) -> Result<(), InstallError> {
        let subject = &provision.subject;
        let PlannedStep { step, environment } = planned;
        let look = || step.missing(subject, environment, &provision.system);
        let missing = look();
        let commands = match missing.first().map(|missing| &missing.remedy) {
            None => return Ok(()),
            Some(Remedy::ByHand(_) | Remedy::Bring(_)) => {
                return Err(InstallError::ByHand(missing));
            }
            Some(Remedy::Install(commands)) => commands,
        };
        let log = match step {
            ProvisionStep::Folder(recipe) => {
                self.fill(subject, recipe, environment)?;
                recipe.folder.log()
            }
            ProvisionStep::Image(_) => self.pull(provision, commands, environment)?,
            _ => self.install_packages(provision, commands, environment)?,
        };
        let missing = look();
        if missing.is_empty() {
            return Ok(());
        }
        Err(InstallError::StillMissing { missing, log })
    }

    /// Makes an engine fetch an image, which the engine keeps. Returns the log.
    fn pull(
        &mut self,
        provision: &Provision,
        commands: &[Vec<String>],
        environment: &Environment,
    ) -> Result<PathBuf, InstallError> {
        let log = provision.cache.join(IMAGES_LOG);
        renew(&log)?;
        for words in commands {
            let call = LoggedCommand {
                words,
                directory: Path::new("/"),
                path: &environment.path(),
                variables: &[],
                without: &[],
                deadline: None,
                log: &log,
            };
            self.run(&provision.subject, &call)?;
        }
        Ok(log)
    }

    /// Installs packages of the system, and starts none of their services. Returns the log.
    fn install_packages(
        &mut self,
        provision: &Provision,
        commands: &[Vec<String>],
        environment: &Environment,
    ) -> Result<PathBuf, InstallError> {
        let log = provision.cache.join(PACKAGES_LOG);
        renew(&log)?;
        let mut variables = environment.variables();
        let pairs = packages::VARIABLES.iter();
        variables.extend(pairs.map(|&(name, value)| (name.to_owned(), value.to_owned())));
        let path = &provision.system.policy;
        let failed = |what| {
            move |source| InstallError::Policy {
                path: path.clone(),
                what,
                source,
            }
        };
        let policy = Policy::refuse(path).map_err(failed("set up"))?;
        for words in commands {
            let is_update = *words == packages::UPDATE;
            if is_update && self.is_updated {
                continue;
            }
            let call = LoggedCommand {
                words,
                directory: Path::new("/"),
                path: &environment.path(),
                variables: &variables,
                without: &[],
                deadline: None,
                log: &log,
            };
            self.run(&provision.subject, &call)?;
            self.is_updated |= is_update;
        }
        policy.restore().map_err(failed("restore"))?;
        Ok(log)
    }

    /// Empties a folder of the cache, and fills it by its recipe.
    fn fill(
        &mut self,
        subject: &str,
        recipe: &Recipe,
        environment: &Environment,
    ) -> Result<(), InstallError> {
        let folder = &recipe.folder;
        let failed = |source| InstallError::Cache {
            path: folder.path().to_owned(),
            source,
        };
        renew(&folder.log())?;
        folder.empty().map_err(failed)?;
        for (name, text) in &recipe.files {
            fs::write(folder.path().join(name), text).map_err(failed)?;
        }
        for words in &recipe.commands {
            let call = LoggedCommand {
                words,
                directory: recipe.directory(),
                path: &environment.path(),
                variables: &environment.variables(),
                without: &[],
                deadline: None,
                log: &folder.log(),
            };
            self.run(subject, &call)?;
        }
        if let Some(sources) = recipe.sources() {
            let path = folder.path().to_string_lossy();
            let is_unchanged = sources
                .fingerprint()
                .is_ok_and(|name| path.ends_with(&name));
            if !is_unchanged {
                return Err(InstallError::SourcesChanged {
                    subject: subject.to_owned(),
                    folder: sources.folder.clone(),
                });
            }
        }
        let content: String = recipe
            .commands
            .iter()
            .map(|words| format!("{}\n", shell_words::join(words)))
            .collect();
        folder.complete(&content).map_err(failed)
    }

    fn run(&mut self, subject: &str, call: &LoggedCommand) -> Result<(), InstallError> {
        let command = shell_words::join(call.words);
        (self.notify)(&format!("{subject}: {command}"));
        call.run(&self.interrupt).map_err(|source| match source {
            CommandError::Interrupted => InstallError::Interrupted,
            source => InstallError::Command(Box::new(FailedCommand {
                subject: subject.to_owned(),
                command,
                source,
                output: log_tail(call.log, 0, SHOWN_LINES).unwrap_or_default(),
                log: call.log.to_owned(),
            })),
        })
    }
}

/// Replaces the last log by an empty one.
fn renew(log: &Path) -> Result<(), InstallError> {
    fs::write(log, "").map_err(|source| InstallError::Cache {
        path: log.to_owned(),
        source,
    })
}

fn lines(missing: &[Missing]) -> String {
    missing
        .iter()
        .map(|missing| format!("\n  {missing}"))
        .collect()
}

fn shown(output: &str) -> String {
    format!("; the end of its output:\n{output}")
}

fn advice(source: &io::Error) -> &'static str {
    match source.kind() {
        ErrorKind::WouldBlock => " (another abx is installing packages: wait for it)",
        _ => "",
    }
}
