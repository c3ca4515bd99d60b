//! `abx cache`: lists and removes the builds of revisions that abx keeps.

use std::time::{Duration, SystemTime};

use abx_lab::revisions::{BuildCache, BuildStamp, CachedBuild, Revision};
use abx_report::plural;
use abx_report::printing::{Table, UNKNOWN, bytes, clean_name, moment};
use clap::{Args, Subcommand};
use serde::Serialize;

use crate::flags::output::{self, OutputFlags, print, style, to_stdout};
use crate::flags::units;
use crate::ui::end::{End, Failure};

/// List or remove the builds of revisions that abx keeps.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx cache list\n  \
    abx cache clean --older-than 30d\n\n\
    A build that no run uses for 30 days is removed when abx makes a new one.")]
pub struct CacheArgs {
    #[command(subcommand)]
    command: CacheCommand,
}

/// What can be done with the cache.
#[derive(Debug, Subcommand)]
enum CacheCommand {
    List(CacheList),
    Clean(CacheClean),
}

/// List builds with their commit, size and last use, the most recently used first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx cache list\n  \
    abx cache list --json -")]
#[command(mut_arg("json", |json| output::saves(json, "the list")))]
struct CacheList {
    #[command(flatten)]
    output: OutputFlags,
}

/// Remove builds, except those that a run uses now.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx cache clean\n  \
    abx cache clean --older-than 30d")]
struct CacheClean {
    /// Only builds that no run has used for this long, such as 30d.
    #[arg(long, value_name = "TIME", value_parser = units::duration)]
    older_than: Option<Duration>,
}

/// A build in the list.
#[derive(Serialize)]
struct ListedBuild {
    folder: String,
    commit: Option<String>,
    /// The subject line of the commit.
    title: Option<String>,
    author_date: Option<String>,
    /// A hash of a working tree's changes over the commit.
    changes: Option<String>,
    /// The commands that built it.
    build: Vec<String>,
    bytes: u64,
    last_use_unix_ms: u64,
}

/// Lists builds or removes them.
pub fn cache(arguments: &CacheArgs) -> Result<End, Failure> {
    let cache = BuildCache::here();
    match &arguments.command {
        CacheCommand::List(flags) => list(&cache, &flags.output),
        CacheCommand::Clean(flags) => clean(&cache, flags.older_than),
    }
}

fn list(cache: &BuildCache, flags: &OutputFlags) -> Result<End, Failure> {
    let builds: Vec<ListedBuild> = cache
        .list()
        .map_err(Failure::no_claim)?
        .into_iter()
        .map(|build| listed(cache, build))
        .collect();
    let place = cache.folder().display();
    let text = if builds.is_empty() {
        format!("No builds in {place}\n")
    } else {
        let total = builds.iter().map(|build| build.bytes).sum::<u64>();
        let headers = ["commit", "subject line", "built by", "size", "last use"];
        let table = Table::new(headers, builds.iter().map(row)).of_words();
        let count = plural(builds.len() as u64, "build");
        let table = table.text(style(flags).columns());
        format!("{table}\n{count}, {} in {place}\n", bytes(total as f64))
    };
    print(&text, &builds, flags)?;
    Ok(End::Done)
}

fn listed(cache: &BuildCache, build: CachedBuild) -> ListedBuild {
    let since = build.last_use.duration_since(SystemTime::UNIX_EPOCH);
    let last_use_ms = since.unwrap_or_default().as_millis();
    let folder = cache.folder().join(&build.name).display().to_string();
    let stamp = build.stamp;
    let field = |key: fn(&BuildStamp) -> &String| stamp.as_ref().map(key).cloned();
    ListedBuild {
        folder,
        commit: field(|stamp| &stamp.commit),
        title: field(|stamp| &stamp.title),
        author_date: field(|stamp| &stamp.author_date),
        changes: stamp.as_ref().and_then(|stamp| stamp.changes.clone()),
        build: stamp.map(|stamp| stamp.commands).unwrap_or_default(),
        bytes: build.bytes,
        last_use_unix_ms: u64::try_from(last_use_ms).unwrap_or(u64::MAX),
    }
}

fn row(build: &ListedBuild) -> Vec<String> {
    let unknown = || UNKNOWN.to_owned();
    let commit = build.commit.as_deref().map(|commit| {
        let short = Revision::shortened(commit);
        match build.changes {
            Some(_) => format!("{short} with changes"),
            None => short.to_owned(),
        }
    });
    let title = match &build.title {
        Some(title) => clean_name(title),
        None => "an incomplete build".to_owned(),
    };
    let built_by = clean_name(&build.build.join(", then "));
    vec![
        commit.unwrap_or_else(unknown),
        title,
        if built_by.is_empty() {
            unknown()
        } else {
            built_by
        },
        bytes(build.bytes as f64),
        moment(build.last_use_unix_ms),
    ]
}

fn clean(cache: &BuildCache, older_than: Option<Duration>) -> Result<End, Failure> {
    let removed = cache.clean(older_than.unwrap_or_default());
    let removed = removed.map_err(Failure::no_claim)?;
    let mut text = format!(
        "Removed {}, {}",
        plural(removed.builds as u64, "build"),
        bytes(removed.bytes as f64)
    );
    if removed.used > 0 {
        let used = plural(removed.used as u64, "build");
        text.push_str(&format!("; kept {used} that a run uses or makes"));
    }
    to_stdout(&format!("{text}\n")).map_err(Failure::no_claim)?;
    Ok(End::Done)
}
