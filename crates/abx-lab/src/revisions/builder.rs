//! Builds each revision once, in a folder of its own.

use std::fs;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use abx_evidence::record::RevisionRecord;
use abx_study::launch::Launch;

use super::build_command::BuildCommand;
use super::build_stamp::BuildStamp;
use super::cache::{BuildCache, discard};
use super::checkout::check_out;
use super::git::HOOK_VARIABLES;
use super::lease::Lease;
use super::repository::Repository;
use super::revision::Revision;
use super::revision_error::{FailedBuild, RevisionError};
use super::tools;
use crate::locked_file::Hold;
use crate::process::log_tail::log_tail;
use crate::setup::provision::command::{CommandError, LoggedCommand};
use crate::setup::provision::interrupt::Interrupt;
use crate::setup::provision::recipe::content_hash::ContentHash;
use crate::setup::provision::recipe::folder::CacheFolder;

/// Builds revisions of one repository by the same commands.
pub struct Builder<'a> {
    repository: &'a Repository,
    commands: Vec<BuildCommand>,
    /// The tools of the commands, one line each.
    tools: Vec<String>,
    cache: BuildCache,
    within: Duration,
}

/// A revision that is built. Its folder stays as long as this value exists.
#[derive(Debug)]
pub struct Built {
    pub revision: Revision,
    /// Where servers start: the folder in the checkout that the repository was opened at.
    pub folder: PathBuf,
    /// The output of its commands.
    pub log: PathBuf,
    /// Whether it was built now, rather than found in the cache.
    pub is_new: bool,
    /// The commands that built it, as they were given.
    pub commands: Vec<String>,
    lease: Lease,
}

/// How long a build may take unless something else is set.
pub const BUILD_WITHIN: Duration = Duration::from_secs(30 * 60);
/// Builds that no run used for this long are removed when a new one is made.
const UNUSED_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The checkout in the folder of a build.
const SOURCE: &str = "source";
/// Lines of a failed build's output that its message shows.
const SHOWN_LINES: usize = 20;
/// How often abx checks whether another abx has finished a build.
const CHECK_EVERY: Duration = Duration::from_millis(100);

impl<'a> Builder<'a> {
    /// A builder that runs these commands one after the other. Without commands, a build is just a
    /// checkout.
    ///
    /// # Errors
    /// [`RevisionError::BuildCommand`] for a command that is empty or needs a shell.
    pub fn new(
        repository: &'a Repository,
        commands: &[String],
        cache: BuildCache,
    ) -> Result<Builder<'a>, RevisionError> {
        let commands = commands.iter().map(|text| BuildCommand::parse(text));
        let commands = commands.collect::<Result<Vec<_>, _>>()?;
        Ok(Builder {
            repository,
            tools: tools::versions(&commands),
            commands,
            cache,
            within: BUILD_WITHIN,
        })
    }

    /// Sets how long the commands of a build may take together.
    #[must_use]
    pub fn within(self, within: Duration) -> Builder<'a> {
        Builder { within, ..self }
    }

    /// Returns the build of a revision: that of the cache, or a new one. `notify` receives one line
    /// per command before it runs.
    ///
    /// # Errors
    /// [`RevisionError`] if it cannot be checked out or built; nothing of it stays except its log.
    pub fn build(
        &self,
        revision: &Revision,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Built, RevisionError> {
        self.build_copy(revision, 0, notify)
    }

    /// Returns one of several builds of the same revision, each in its own folder. `copy` 0 is that
    /// of [`Builder::build`].
    ///
    /// # Errors
    /// As [`Builder::build`].
    pub fn build_copy(
        &self,
        revision: &Revision,
        copy: u32,
        notify: &mut dyn FnMut(&str),
    ) -> Result<Built, RevisionError> {
        let interrupt = Interrupt::watch().map_err(RevisionError::Signals)?;
        let name = self.key(revision, copy);
        let folder = self.cache.build(&name);
        let mut is_new = false;
        let mut has_notified = false;
        loop {
            let shared = self.cache.lease(&name, Hold::Shared)?;
            if let Some(lease) = shared
                && folder.is_complete()
            {
                lease
                    .note_use()
                    .map_err(RevisionError::in_cache(folder.path()))?;
                return Ok(self.built(revision, &folder, is_new, lease));
            }
            match self.cache.lease(&name, Hold::Alone)? {
                // Another abx has made it since.
                Some(_lease) if folder.is_complete() => {}
                Some(_lease) => {
                    self.make(revision, copy, &folder, (&interrupt, notify))?;
                    is_new = true;
                }
                None if interrupt.is_signalled() => return Err(RevisionError::Interrupted),
                None => {
                    if !has_notified {
                        notify(&format!("waiting for another abx to build {revision}"));
                        has_notified = true;
                    }
                    sleep(CHECK_EVERY);
                }
            }
        }
    }

    /// The commands as they were given.
    fn commands(&self) -> Vec<String> {
        let texts = self.commands.iter().map(BuildCommand::text);
        texts.map(str::to_owned).collect()
    }

    /// The name of a build in the cache, which depends on its sources, commands and tools.
    fn key(&self, revision: &Revision, copy: u32) -> String {
        let prefix = self.repository.prefix().to_string_lossy().into_owned();
        let mut hash = ContentHash::new("revision");
        hash.add_words(&[revision.commit.clone(), prefix, copy.to_string()]);
        hash.add_words(revision.changes.as_slice());
        hash.add_words(&self.commands());
        hash.add_words(&self.tools);
        format!("{}-{}", revision.short(), hash.name())
    }

    fn built(
        &self,
        revision: &Revision,
        folder: &CacheFolder,
        is_new: bool,
        lease: Lease,
    ) -> Built {
        Built {
            revision: revision.clone(),
            folder: self.work_folder(folder),
            log: folder.log(),
            is_new,
            commands: self.commands(),
            lease,
        }
    }

    /// Where commands run and servers start.
    fn work_folder(&self, folder: &CacheFolder) -> PathBuf {
        folder.path().join(SOURCE).join(self.repository.prefix())
    }

    /// Makes a build from nothing, or leaves nothing of it except its log.
    fn make(
        &self,
        revision: &Revision,
        copy: u32,
        folder: &CacheFolder,
        (interrupt, notify): (&Interrupt, &mut dyn FnMut(&str)),
    ) -> Result<(), RevisionError> {
        let failed = RevisionError::in_cache(folder.path());
        folder.empty().map_err(&failed)?;
        fs::write(folder.log(), "").map_err(&failed)?;
        let source = folder.path().join(SOURCE);
        let made = check_out(self.repository, revision, &self.commands, &source)
            .and_then(|()| self.run_commands(revision, folder, (interrupt, notify)));
        if let Err(error) = made {
            discard(folder).map_err(&failed)?;
            // Ctrl-C reaches git, too, which then fails.
            if interrupt.is_signalled() {
                return Err(RevisionError::Interrupted);
            }
            return Err(error);
        }
        let stamp = BuildStamp {
            commit: revision.commit.clone(),
            name: revision.name.clone(),
            title: revision.title.clone(),
            author_date: revision.author_date.clone(),
            changes: revision.changes.clone(),
            commands: self.commands(),
            tools: self.tools.clone(),
            copy,
        };
        let text = serde_json::to_string(&stamp).expect("texts and a number are JSON");
        folder.complete(&text).map_err(&failed)?;
        // An old build that cannot be removed does not spoil the new one.
        let _ = self.cache.clean(UNUSED_FOR);
        Ok(())
    }

    fn run_commands(
        &self,
        revision: &Revision,
        folder: &CacheFolder,
        (interrupt, notify): (&Interrupt, &mut dyn FnMut(&str)),
    ) -> Result<(), RevisionError> {
        let directory = self.work_folder(folder);
        if !directory.is_dir() {
            return Err(RevisionError::NoFolder {
                revision: revision.to_string(),
                folder: self.repository.prefix().to_owned(),
            });
        }
        let path = std::env::var("PATH").unwrap_or_default();
        let deadline = Instant::now().checked_add(self.within);
        for command in &self.commands {
            notify(&format!("building {revision}: {}", command.text()));
            let call = LoggedCommand {
                words: command.words(),
                directory: &directory,
                path: &path,
                variables: &[],
                without: HOOK_VARIABLES,
                deadline,
                log: &folder.log(),
            };
            call.run(interrupt).map_err(|source| match source {
                CommandError::Interrupted => RevisionError::Interrupted,
                source => RevisionError::Build(Box::new(FailedBuild {
                    revision: revision.to_string(),
                    command: command.text().to_owned(),
                    source,
                    within: self.within,
                    output: log_tail(&folder.log(), 0, SHOWN_LINES).unwrap_or_default(),
                    log: folder.log(),
                })),
            })?;
        }
        Ok(())
    }
}

impl Built {
    /// Its entry in records.
    #[must_use]
    pub fn record(&self) -> RevisionRecord {
        let revision = self.revision.clone();
        RevisionRecord {
            commit: revision.commit,
            name: revision.name,
            title: revision.title,
            author_date: revision.author_date,
            changes: revision.changes,
            build: self.commands.clone(),
        }
    }

    /// Keeps the build from being removed until this process ends, rather than until this value
    /// is dropped.
    pub fn keep(self) {
        // The system releases the lock when it closes the file.
        std::mem::forget(self.lease);
    }

    /// The launch of a server from this build: it starts in the built folder.
    ///
    /// # Errors
    /// [`RevisionError::NoProgram`] if its program is not there.
    pub fn launch(&self, launch: Launch) -> Result<Launch, RevisionError> {
        let launch = Launch {
            build: Some(self.folder.clone()),
            checkout: Some(self.folder.clone()),
            ..launch
        };
        match launch.missing_program() {
            None => Ok(launch),
            Some(program) => Err(RevisionError::NoProgram {
                revision: self.revision.to_string(),
                program,
                folder: self.folder.clone(),
            }),
        }
    }
}
