//! `abx study`: the built-in studies.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use abx_evidence::OutputKind;
use abx_lab::catalog::{self, CatalogEntry, CheckEnvironment, CheckedStudy};
use abx_lab::provision;
use abx_lab::study_file::{self, Need, StudyFile, SubjectSpec};
use abx_lab::{OrderedTime, PilotEffort};
use abx_report::plural;
use abx_stats::stop::BLOCKS_ORDERED;
use abx_verdict::catalog::{CheckRecord, SubjectStatus};
use clap::{Arg, Args, Subcommand};

use crate::commands::compare::{Absent, Extent, Loads, is_path, part_of};
use crate::commands::compare::{Compare, TrustFlag, confirm, perform};
use crate::commands::install::install;
use crate::flags::help;
use crate::flags::output;
use crate::flags::output::OutputFlags;
use crate::ui::end::{End, Failure, notify};
use crate::ui::invocation::own_program;
use crate::ui::signals;

/// List and show the built-in studies. Check, install and run these and your own.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx study list\n  \
    abx study show event-servers\n  \
    abx study check static-files\n  \
    abx study install static-files\n  \
    abx study run nginx-sendfile --quick --install")]
pub struct Catalog {
    #[command(subcommand)]
    command: StudyCommand,
}

/// What can be done with them.
#[derive(Debug, Subcommand)]
enum StudyCommand {
    /// List the built-in studies.
    #[command(after_help = "Examples:\n  abx study list")]
    List,
    /// Show what a study compares, why, and what its subjects need.
    #[command(after_help = "Examples:\n  abx study show event-servers")]
    Show {
        /// Name of the study, from `abx study list`.
        name: String,
    },
    Check(StudyCheck),
    Install(StudyInstall),
    Run(Box<StudyRun>),
}

/// Start each subject of a study, check its responses, and stop it.
///
/// ready: it works. missing: it needs something that can be installed. broken: it did not
/// start, or responded wrongly. skipped: it needs a program that you have to provide.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx study check\n  \
    abx study check event-servers --install --json -\n  \
    abx study check ./my-study\n\n\
    Exit codes: 0 no subject is broken; 3 at least one is; 130 interrupted.")]
#[command(mut_arg("json", |json| output::saves(json, "the result of the check")))]
struct StudyCheck {
    /// Check only this study: its name, or the folder of a study file.
    #[arg(value_name = "NAME|PATH")]
    name: Option<String>,
    /// Install missing programs first, without starting a service.
    #[arg(long)]
    install: bool,
    #[command(flatten)]
    trust: TrustFlag,
    #[command(flatten)]
    output: OutputFlags,
}

/// Install what the subjects of a study need, and start nothing.
///
/// Programs that only you can bring are listed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx study install static-files\n  \
    abx study install ./my-study")]
struct StudyInstall {
    #[arg(required = true, value_name = "NAME|PATH", help = STUDY)]
    names: Vec<String>,
    #[command(flatten)]
    trust: TrustFlag,
}

/// Run a study, or only some of its subjects and loads.
#[derive(Debug, Args)]
#[command(
    mut_arg("words", |word| word
        .value_name("NAME|PATH")
        .num_args(1)
        .action(clap::ArgAction::Set)
        .required(true)
        .help(STUDY)
        .long_help(STUDY)),
    mut_args(|argument| help::without(argument, is_refused)),
    after_help = "`abx study run --help` has all flags and examples.",
    after_long_help = "Examples:\n  \
        abx study run nginx-sendfile --install\n  \
        abx study run event-servers --quick --subjects libevent-2,node,nginx --loads kept-c50\n  \
        abx study run ./my-study --quick\n\n\
        Subjects of a built-in study whose program you have to provide are skipped if it is \
        missing, and the report states that. The study sets the load and its subjects, so flags \
        for them are rejected."
)]
struct StudyRun {
    #[command(flatten)]
    compare: Compare,
    /// Only these subjects. If the baseline is not among them, the first one replaces it.
    #[arg(
        long,
        help_heading = "Study",
        value_name = "A,B",
        value_delimiter = ','
    )]
    subjects: Vec<String>,
    /// Only these loads, by name.
    #[arg(
        long,
        help_heading = "Study",
        value_name = "A,B",
        value_delimiter = ',',
        conflicts_with = "tiny"
    )]
    loads: Vec<String>,
    /// A first look: six blocks within 20 minutes.
    ///
    /// Three of these minutes are reserved for --install; --budget replaces the other 17.
    /// Comparisons may stay undecided.
    #[arg(long, help_heading = "Study", conflicts_with_all = ["tiny", "blocks", "pilot"])]
    quick: bool,
    /// A smoke test of a minute or two: one block of short slices, with the first position of
    /// each sweep. It shows that everything works, and nothing else.
    #[arg(
        long,
        help_heading = "Study",
        hide_short_help = true,
        conflicts_with_all = ["blocks", "budget", "slice", "pilot"]
    )]
    tiny: bool,
}

/// The help of the word that names a study.
const STUDY: &str =
    "The study: its name from `abx study list`, or the path of a study file or its folder";

/// Whether a flag of `abx compare` is for settings that a study has itself: its loads and its
/// subjects.
fn is_refused(argument: &Arg) -> bool {
    let heading = argument.get_help_heading().unwrap_or_default();
    let name = argument.get_id().as_str();
    OF_LOADS.contains(&heading) || ["aa", "http2_for"].contains(&name)
}

/// Headings of flags for settings of a study file.
const OF_LOADS: [&str; 8] = [
    "Load",
    "Requests",
    "Requests from an access log",
    "Connections",
    "Correct responses",
    "TLS",
    "WebSocket",
    "Revisions",
];

/// Blocks of `--quick`.
const QUICK_BLOCKS: u32 = BLOCKS_ORDERED as u32;
/// The time for these blocks, which leaves some of the twenty minutes for `--install`.
const QUICK_TIME: std::time::Duration = std::time::Duration::from_secs(17 * 60);
/// Rounds per block of `--tiny`, unless the user sets them, and the length of its slices.
const TINY_ROUNDS: u32 = 4;
const TINY_SLICE: std::time::Duration = std::time::Duration::from_millis(20);

/// Runs a subcommand of the catalog.
pub fn catalog(catalog: &Catalog) -> Result<End, Failure> {
    match &catalog.command {
        StudyCommand::List => list(),
        StudyCommand::Show { name } => show(name),
        StudyCommand::Check(flags) => check(flags),
        StudyCommand::Install(flags) => install_all(flags),
        StudyCommand::Run(flags) => run(flags),
    }
}

fn list() -> Result<End, Failure> {
    let entries = catalog::entries();
    let longest = entries.iter().map(|entry| entry.name.len()).max();
    let width = longest.unwrap_or_default();
    let mut text = String::new();
    for entry in entries {
        let file = entry.study().map_err(Failure::usage)?;
        let _ = writeln!(
            text,
            "{:width$}  {:>11}, {:>8}  {}",
            entry.name,
            plural(file.subjects.len() as u64, "subject"),
            plural(file.loads.len() as u64, "load"),
            entry.title()
        );
    }
    output::to_stdout(&text).map_err(Failure::no_claim)?;
    Ok(End::Done)
}

fn show(name: &str) -> Result<End, Failure> {
    let entry = entry(name)?;
    let file = entry.study().map_err(Failure::usage)?;
    let mut text = format!("{}\n\nSubjects:\n", entry.readme().trim_end());
    for subject in file.in_order() {
        let _ = writeln!(text, "  {}: {}", subject.name, origin(subject));
    }
    text.push_str("\nLoads:\n");
    for load in &file.loads {
        let mut paths: Vec<&str> = load
            .requests
            .iter()
            .take(PATHS_SHOWN)
            .map(|request| request.path.as_deref().unwrap_or("/"))
            .collect();
        if load.requests.len() > PATHS_SHOWN {
            paths.push("...");
        }
        let _ = writeln!(text, "  {}: {}", load.name, paths.join(", "));
    }
    let _ = writeln!(text, "\nRun it with: abx study run {name} --install");
    output::to_stdout(&text).map_err(Failure::no_claim)?;
    Ok(End::Done)
}

/// How many paths of a load are shown.
const PATHS_SHOWN: usize = 5;

/// How a subject is obtained, in words.
fn origin(subject: &SubjectSpec) -> String {
    let need = |need: &Need| match need {
        Need::Image(name) => format!("the image {name}"),
        Need::Packages(list) => format!("the packages {}", list.join(", ")),
        Need::Npm(list) => format!("{} from npm", list.join(", ")),
        Need::Pypi(list) => format!("{} from PyPI", list.join(", ")),
        Need::Maven(list) => format!("{} from maven", list.join(", ")),
        Need::Cargo(list) => format!("{} from cargo", list.join(", ")),
        Need::Build { .. } => "a build".to_owned(),
        Need::Bring { program, how } => format!("bring {program} ({how})"),
    };
    let mut words: Vec<String> = subject.server.needs.iter().map(need).collect();
    let revision = subject.server.revision.as_ref();
    words.extend(revision.map(|revision| format!("a build of the revision {}", revision.name)));
    if words.is_empty() {
        words.push("nothing but abx".to_owned());
    }
    if let Some(meant) = &subject.stand_in_for {
        words.push(format!("stands in for {meant}"));
    }
    words.join("; ")
}

fn run(flags: &StudyRun) -> Result<End, Failure> {
    let mut compare = flags.compare.clone();
    let name = compare.words.first().cloned().unwrap_or_default();
    let (path, absent) = if is_path(&name) {
        (PathBuf::from(&name), Absent::Refused)
    } else {
        let folder = entry(&name)?.unpack(&provision::cache_folder());
        (folder.map_err(Failure::usage)?, Absent::Skipped)
    };
    let mut command = format!("abx study run {name}");
    if !flags.subjects.is_empty() {
        let _ = write!(command, " --subjects {}", flags.subjects.join(","));
    }
    if !flags.loads.is_empty() {
        let _ = write!(command, " --loads {}", flags.loads.join(","));
    }
    if flags.quick {
        compare.blocks = Some(QUICK_BLOCKS);
        command.push_str(" --quick");
    }
    if flags.tiny {
        compare.blocks = Some(1);
        compare.slice = Some(TINY_SLICE);
        compare.rounds = compare.rounds.or(Some(TINY_ROUNDS));
        compare.no_ceiling = true;
        command.push_str(" --tiny");
    }
    let extent = Extent {
        command,
        subjects: &flags.subjects,
        absent,
        loads: match (flags.tiny, &flags.loads[..]) {
            (true, _) => Loads::First,
            (false, []) => Loads::All,
            (false, named) => Loads::Named(named),
        },
    };
    let mut study = part_of(&path, &extent, &compare)?;
    if flags.quick {
        study.ordered_time = Some(OrderedTime::Whole(compare.budget.unwrap_or(QUICK_TIME)));
        study.pilot = PilotEffort::Quick;
    }
    if flags.tiny {
        study.pilot = PilotEffort::Brief;
    }
    perform(&study, &compare)
}

fn check(flags: &StudyCheck) -> Result<End, Failure> {
    let cache = provision::cache_folder();
    refuse_lone_trust(flags.name.iter(), flags.trust)?;
    let studies = checked_studies(flags.name.as_deref(), &cache, flags.trust)?;
    let mut notify_step = |line: &str| {
        if !flags.output.quiet {
            notify(line);
        }
    };
    for study in studies.iter().filter(|_| flags.install) {
        install(study, &cache, &mut notify_step)?;
    }
    let interruption = signals::Interruption::by_signals();
    let mut record = CheckRecord {
        head: OutputKind::Check.into(),
        abx_version: env!("CARGO_PKG_VERSION").to_owned(),
        interrupted: false,
        subjects: Vec::new(),
    };
    let program = own_program()?;
    for study in &studies {
        let checked = catalog::check(
            study,
            &mut CheckEnvironment {
                program: &program,
                keeper_arguments: &["keeper"],
                cache: &cache,
                watch: &mut |checked| {
                    if !flags.output.quiet {
                        notify(&format!(
                            "{}/{}: {}",
                            checked.study,
                            checked.subject,
                            checked.status.word()
                        ));
                    }
                },
                on_stopper: &mut |stopper| interruption.stops(&stopper),
            },
        );
        record.subjects.extend(checked.map_err(Failure::no_claim)?);
        if interruption.has_come() {
            record.interrupted = true;
            break;
        }
    }
    let report = abx_report::check_text(&record, &output::style(&flags.output));
    output::print(&report, &record, &flags.output)?;
    let mut subjects = record.subjects.iter();
    let is_any_broken = subjects.any(|subject| subject.status == SubjectStatus::Broken);
    Ok(if record.interrupted {
        End::Interrupted
    } else if is_any_broken {
        End::NoClaim
    } else {
        End::Done
    })
}

/// Installs what the subjects of the named studies need.
fn install_all(flags: &StudyInstall) -> Result<End, Failure> {
    let cache = provision::cache_folder();
    refuse_lone_trust(flags.names.iter(), flags.trust)?;
    for name in &flags.names {
        for study in checked_studies(Some(name), &cache, flags.trust)? {
            let lacking = install(&study, &cache, &mut notify)?;
            let exception = match lacking {
                0 => "",
                _ => ", except the programs that you have to provide",
            };
            let text = format!(
                "{}: everything that its subjects need is installed{exception}\n",
                study.file.name
            );
            output::to_stdout(&text).map_err(Failure::no_claim)?;
        }
    }
    Ok(End::Done)
}

/// Refuses --trust if all named studies are built in.
fn refuse_lone_trust<'a>(
    mut names: impl Iterator<Item = &'a String>,
    trust: TrustFlag,
) -> Result<(), Failure> {
    if names.any(|name| is_path(name)) {
        return Ok(());
    }
    trust.refuse_without_file()
}

/// The study of this name or in this folder, or all of the catalog. A study in a folder must be
/// trusted.
fn checked_studies(
    name: Option<&str>,
    cache: &Path,
    trust: TrustFlag,
) -> Result<Vec<CheckedStudy>, Failure> {
    let folders: Vec<PathBuf> = match name {
        Some(path) if is_path(path) => {
            let study = checked_study(Path::new(path))?;
            confirm(path.as_ref(), (&study.file, &study.folder), trust)?;
            return Ok(vec![study]);
        }
        Some(name) => vec![entry(name)?.unpack(cache).map_err(Failure::usage)?],
        None => catalog::entries()
            .iter()
            .map(|entry| entry.unpack(cache).map_err(Failure::usage))
            .collect::<Result<_, _>>()?,
    };
    folders.iter().map(|folder| checked_study(folder)).collect()
}

fn checked_study(folder: &Path) -> Result<CheckedStudy, Failure> {
    let (file, folder): (StudyFile, PathBuf) = study_file::read(folder).map_err(Failure::usage)?;
    Ok(CheckedStudy { file, folder })
}

fn entry(name: &str) -> Result<&'static CatalogEntry, Failure> {
    catalog::entry(name).ok_or_else(|| {
        Failure::usage(format!(
            "there is no built-in study `{name}` ({}): name another one, or run your own study file \
             with `abx study run PATH`",
            catalog::meant(name)
        ))
    })
}
