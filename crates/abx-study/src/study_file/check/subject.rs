//! Checks a subject's table.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::servers::container::ContainerImage;
use crate::servers::launch::{Launch, ReadinessRule, Stop, Template};
use crate::servers::placeholder::{WORDS, placeholders};
use crate::study_file::document::LineIndex;
use crate::study_file::input::Templates;
use crate::study_file::key_position::KeyPosition;
use crate::study_file::mistake::{Diagnostic, short};
use crate::study_file::model::{Need, RevisionSpec, RunSpec, ServerSpec, SubjectSpec};
use crate::study_file::nearest::meant;
use crate::study_file::raw::{RawReady, RawServer, RawStop, RawSubject};
use crate::study_file::raw_from::RawFrom;
use crate::study_file::unit;

/// The subject of a table, whose name is already checked. `leading` are the placeholders of
/// services.
pub fn subject(
    raw: RawSubject,
    here: &KeyPosition,
    templates: Templates,
    leading: &[String],
) -> Result<SubjectSpec, Diagnostic> {
    Ok(SubjectSpec {
        server: server(&raw, here, templates, leading)?,
        stand_in_for: stand_in_for(&raw.server.from, &here.key("from"))?,
        http2: raw.http2,
        name: raw.name,
    })
}

/// How it is obtained and comes to run.
fn server(
    raw: &RawSubject,
    here: &KeyPosition,
    templates: Templates,
    leading: &[String],
) -> Result<ServerSpec, Diagnostic> {
    let from = &raw.server.from;
    // An image has its own command.
    let of_image = from.image.as_ref().map(|_| Vec::new());
    let command = raw.command.as_ref().or(of_image.as_ref());
    let run = match (command, &raw.address) {
        (None, None) => {
            return Err(here.fault(
                "neither `command` nor `address`: write how abx starts it, such as command = \
                 [\"./server\", \"{port}\"], or where it runs",
            ));
        }
        (Some(_), Some(_)) if raw.command.is_none() => {
            return Err(only_started(&here.key("from").key("image")));
        }
        (Some(_), Some(_)) => {
            return Err(here.key("address").fault(
                "both `command` and `address`: leave out `address` for a server that abx starts, \
                 `command` for one that runs already",
            ));
        }
        (None, Some(_)) if from.git.is_some() => {
            return Err(only_started(&here.key("from").key("git")));
        }
        (None, Some(address)) => RunSpec::Address(address_alone(address, here)?),
        (Some(command), None) => {
            let table = LaunchTable {
                server: &raw.server,
                command,
                ports: &[],
            };
            RunSpec::Launch(Launch {
                ready: ready(raw.ready.as_ref(), &here.key("ready"))?,
                worker: worker(raw.worker.as_deref(), &here.key("worker"))?,
                reload: raw.reload,
                tls_name: raw.tls.clone(),
                ..table.launch(here, templates, leading)?
            })
        }
    };
    let start_key = match run {
        RunSpec::Launch(_) if raw.command.is_none() => "from",
        RunSpec::Launch(_) => "command",
        RunSpec::Address(_) => "address",
    };
    Ok(ServerSpec {
        line: here.key(start_key).line(),
        needs: needs(from, &here.key("from"))?,
        revision: revision(from, &here.key("from"))?,
        run,
    })
}

/// The keys that describe how abx starts a server, in the tables of subjects and services.
pub struct LaunchTable<'a> {
    pub server: &'a RawServer,
    pub command: &'a [String],
    pub ports: &'a [String],
}

impl LaunchTable<'_> {
    /// How abx starts and stops it, with the default readiness rule.
    pub fn launch(
        &self,
        here: &KeyPosition,
        templates: Templates,
        leading: &[String],
    ) -> Result<Launch, Diagnostic> {
        let known = self.known_words(leading);
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let named = &here.key("templates");
        let command = match (&self.server.from.image, self.command) {
            (Some(_), []) => Vec::new(),
            (_, command) => words(command, &here.key("command"), &known)?,
        };
        let launch = Launch {
            image: self.image(&here.key("from").key("image"))?,
            ports: self.ports.to_vec(),
            environment: environment(&self.server.env, &here.key("env"), &known)?,
            templates: read_templates(&self.server.templates, named, templates, &known)?,
            stop: stop(self.server.stop.as_ref(), &here.key("stop"))?,
            ..Launch::new(command)
        };
        check_port(&launch, &here.key("command"))?;
        Ok(launch)
    }

    fn image(&self, here: &KeyPosition) -> Result<Option<ContainerImage>, Diagnostic> {
        let Some(name) = &self.server.from.image else {
            return Ok(None);
        };
        if !ContainerImage::is_name(name) {
            return Err(here.fault(format!(
                "`{}` is `{}`: write the name of an image, such as \"nginx:1.27\"",
                here.name(),
                short(name)
            )));
        }
        Ok(Some(ContainerImage {
            name: name.clone(),
            stop_signal: self.server.stop.as_ref().and_then(|stop| stop.signal),
        }))
    }

    /// Its placeholders: `{build}` only if the server is built.
    pub fn known_words(&self, leading: &[String]) -> Vec<String> {
        let from = &self.server.from;
        let is_built = from.build.is_some() || from.git.is_some();
        let words = if is_built {
            &WORDS[..]
        } else {
            &WORDS[..WORDS.len() - 1]
        };
        let words = words.iter().map(|word| (*word).to_owned());
        let ports = self.ports.iter().map(|port| format!("port.{port}"));
        words.chain(ports).chain(leading.iter().cloned()).collect()
    }
}

fn is_only_started(key: &str) -> String {
    format!(
        "`{key}` is only for a subject that abx starts: leave it out, or write `command` instead of \
         `address`"
    )
}

fn only_started(here: &KeyPosition) -> Diagnostic {
    here.fault(is_only_started(&here.name()))
}

fn address_alone(address: &str, here: &KeyPosition) -> Result<String, Diagnostic> {
    let of_start = [
        "templates",
        "env",
        "tls",
        "ready",
        "stop",
        "worker",
        "reload",
    ];
    here.refuse(&of_start, is_only_started)?;
    let mut schemes = ["http://", "https://", "ws://", "wss://"].iter();
    let host = schemes.find_map(|scheme| address.strip_prefix(scheme));
    let host = host.unwrap_or_default();
    let has_host = !host.is_empty() && !host.starts_with(['/', ':', '?', '#']);
    if !has_host || !address.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(here.key("address").fault(format!(
            "`address` is `{}`: write http://HOST[:PORT], or https://, ws://, wss://",
            short(address)
        )));
    }
    Ok(address.to_owned())
}

/// An argument list: a program, and arguments that a program can receive.
pub fn words(
    words: &[String],
    list: &KeyPosition,
    known: &[&str],
) -> Result<Vec<String>, Diagnostic> {
    if words.first().is_none_or(String::is_empty) {
        return Err(list.fault(format!(
            "`{}` begins with an empty word: begin with the program",
            list.name()
        )));
    }
    for (index, word) in words.iter().enumerate() {
        check_text(word, &list.item(index), known)?;
    }
    Ok(words.to_vec())
}

/// Refuses placeholders that are unknown here, and NUL.
fn check_text(text: &str, here: &KeyPosition, known: &[&str]) -> Result<(), Diagnostic> {
    check_nul(text, here)?;
    match unknown_placeholder(text, known) {
        None => Ok(()),
        Some((_, wrong)) => Err(here.fault(wrong)),
    }
}

fn check_nul(text: &str, here: &KeyPosition) -> Result<(), Diagnostic> {
    if text.contains('\0') {
        let key = here.name();
        return Err(here.fault(format!("`{key}` has a NUL character: remove it")));
    }
    Ok(())
}

/// The first unknown placeholder of a text, with its offset in bytes.
fn unknown_placeholder(text: &str, known: &[&str]) -> Option<(usize, String)> {
    let unknown = placeholders(text).find(|placeholder| !known.contains(&placeholder.word))?;
    let (word, meant) = (unknown.word, meant(unknown.word, known));
    let wrong = format!(
        "unknown placeholder {{{word}}}; {meant} (write {{{{{word}}}}} for the text {{{word}}} \
         itself)"
    );
    Some((unknown.offset, wrong))
}

fn environment(
    variables: &BTreeMap<String, String>,
    table: &KeyPosition,
    known: &[&str],
) -> Result<Vec<(String, String)>, Diagnostic> {
    for (name, value) in variables {
        let here = table.key(name);
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(here.fault(format!(
                "`{}` is not a variable name: it is empty, or contains `=`",
                short(name)
            )));
        }
        check_text(value, &here, known)?;
    }
    Ok(variables.clone().into_iter().collect())
}

fn read_templates(
    named: &BTreeMap<String, String>,
    table: &KeyPosition,
    templates: Templates,
    known: &[&str],
) -> Result<Vec<Template>, Diagnostic> {
    let read = |(target, source): (&String, &String)| {
        let here = table.key(target);
        let target = here.read(|key| unit::path_below(key, target))?;
        let text = here.text(source, templates, |file, why| {
            format!("the template `{file}` cannot be read ({why}): put it next to the study file")
        })?;
        if let Some((offset, wrong)) = unknown_placeholder(&text, known) {
            let fault = here.fault(wrong);
            return Err(Diagnostic {
                file: fault.file.parent().unwrap_or(Path::new("")).join(source),
                line: LineIndex::of(&text).at(offset),
                ..fault
            });
        }
        Ok(Template { target, text })
    };
    named.iter().map(read).collect()
}

fn ready(raw: Option<&RawReady>, here: &KeyPosition) -> Result<ReadinessRule, Diagnostic> {
    let path = raw.and_then(|raw| raw.path.as_ref());
    let path = path.map(|path| here.key("path").read(|key| unit::url_path(key, path)));
    let within = raw.and_then(|raw| raw.within.as_ref());
    let usual = ReadinessRule::default();
    Ok(ReadinessRule {
        path: path.transpose()?,
        within: here.key("within").time(within)?.unwrap_or(usual.within),
        status: raw.and_then(|raw| raw.status),
    })
}

fn stop(raw: Option<&RawStop>, here: &KeyPosition) -> Result<Stop, Diagnostic> {
    let within = raw.and_then(|raw| raw.within.as_ref());
    let usual = Launch::STOP;
    Ok(Stop {
        signal: raw.and_then(|raw| raw.signal).unwrap_or(usual.signal),
        within: here.key("within").time(within)?.unwrap_or(usual.within),
    })
}

fn worker(raw: Option<&str>, here: &KeyPosition) -> Result<Option<String>, Diagnostic> {
    if let Some(name) = raw {
        not_empty(name, here)?;
    }
    Ok(raw.map(str::to_owned))
}

/// Refuses a launch without a place for its port, because the subject would listen where no request
/// arrives. Containers read `PORT`, or need arguments that abx cannot know.
fn check_port(launch: &Launch, here: &KeyPosition) -> Result<(), Diagnostic> {
    if launch.image.is_some() || launch.placeholders().any(|word| word == "port") {
        Ok(())
    } else {
        Err(here.fault(
            "no {port} in the command, environment or templates: abx chooses the port, so write \
             {port} where the server takes it (or env = { PORT = \"{port}\" })",
        ))
    }
}

/// The needs that must be installed before it starts.
pub fn needs(raw: &RawFrom, here: &KeyPosition) -> Result<Vec<Need>, Diagnostic> {
    type Make = fn(Vec<String>) -> Need;
    let lists: [(&str, &Option<Vec<String>>, Make); 5] = [
        ("packages", &raw.packages, Need::Packages),
        ("npm", &raw.npm, Need::Npm),
        ("pypi", &raw.pypi, Need::Pypi),
        ("maven", &raw.maven, Need::Maven),
        ("cargo", &raw.cargo, Need::Cargo),
    ];
    if raw.image.is_some() {
        let of_image = |key: &str| {
            format!(
                "`from.{key}` is not for a container, whose image has all that it needs: leave out \
                 `from.{key}` or `from.image`"
            )
        };
        let keys = lists.iter().map(|(key, ..)| *key);
        let keys: Vec<&str> = keys.chain(["bring", "build", "git"]).collect();
        here.refuse(&keys, of_image)?;
    }
    let mut needs: Vec<Need> = raw.image.iter().cloned().map(Need::Image).collect();
    for (key, list, need) in lists {
        let Some(list) = list else { continue };
        let here = here.key(key);
        for (index, word) in list.iter().enumerate() {
            not_empty(word, &here.item(index))?;
        }
        needs.push(need(list.clone()));
    }
    if let Some(bring) = &raw.bring {
        let here = here.key("bring");
        not_empty(&bring.program, &here.key("program"))?;
        not_empty(&bring.how, &here.key("how"))?;
        needs.push(Need::Bring {
            program: bring.program.clone(),
            how: bring.how.clone(),
        });
    }
    if let Some(build) = &raw.build {
        let here = here.key("build");
        let folder = build.folder.as_ref();
        let folder =
            folder.map(|folder| here.key("folder").read(|key| unit::path_below(key, folder)));
        needs.push(Need::Build {
            command: words(&build.command, &here.key("command"), &["study", "build"])?,
            folder: folder.transpose()?.unwrap_or_else(PathBuf::new),
        });
    }
    Ok(needs)
}

/// The revision that it is built from.
fn revision(raw: &RawFrom, here: &KeyPosition) -> Result<Option<RevisionSpec>, Diagnostic> {
    let Some(git) = &raw.git else {
        return Ok(None);
    };
    let here = here.key("git");
    if raw.build.is_some() {
        return Err(here.fault(
            "both `from.git` and `from.build` build it: leave one of them out, and write each step \
             in `from.git.build`",
        ));
    }
    not_empty(&git.rev, &here.key("rev"))?;
    if let Some(repository) = &git.repo {
        not_empty(repository, &here.key("repo"))?;
    }
    let build = git.build.clone().unwrap_or_default();
    for (index, command) in build.iter().enumerate() {
        not_empty(command, &here.key("build").item(index))?;
    }
    Ok(Some(RevisionSpec {
        repository: git.repo.as_ref().map(PathBuf::from).unwrap_or_default(),
        name: git.rev.clone(),
        build,
    }))
}

/// The intended server, if this one stands in for it.
fn stand_in_for(raw: &RawFrom, here: &KeyPosition) -> Result<Option<String>, Diagnostic> {
    if let Some(meant) = &raw.stand_in_for {
        not_empty(meant, &here.key("stand_in_for"))?;
    }
    Ok(raw.stand_in_for.clone())
}

/// Refuses a text that is blank or contains NUL.
fn not_empty(text: &str, here: &KeyPosition) -> Result<(), Diagnostic> {
    if text.trim().is_empty() {
        let key = here.name();
        return Err(here.fault(format!("`{key}` has an empty word: remove it")));
    }
    check_nul(text, here)
}
