//! How servers are obtained, as a study file writes it.

use schemars::JsonSchema;
use serde::Deserialize;

/// How a subject is obtained. What is missing is listed, and installed only with --install.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct RawFrom {
    /// It is a container of this image. podman or docker runs it with the words of `command`.
    #[schemars(extend("examples" = ["nginx:1.27"]))]
    pub image: Option<String>,
    /// System packages.
    #[schemars(length(min = 1), extend("examples" = [["nginx-light"]]))]
    pub packages: Option<Vec<String>>,
    /// npm packages.
    #[schemars(length(min = 1), extend("examples" = [["ws@8"]]))]
    pub npm: Option<Vec<String>>,
    /// Packages from the Python Package Index.
    #[schemars(length(min = 1), extend("examples" = [["uvicorn"]]))]
    pub pypi: Option<Vec<String>>,
    /// Maven artifacts.
    #[schemars(length(min = 1), extend("examples" = [["group:artifact:1.0"]]))]
    pub maven: Option<Vec<String>>,
    /// Crates that contain a program.
    #[schemars(length(min = 1), extend("examples" = [["miniserve"]]))]
    pub cargo: Option<Vec<String>>,
    /// How it is built, once everything else is there.
    pub build: Option<RawBuild>,
    /// The revision of a git repository that is built once and started in its checkout.
    pub git: Option<RawGit>,
    /// A program that you have to install yourself.
    pub bring: Option<RawBring>,
    /// The intended server, if this one stands in for it. Reports show both.
    #[schemars(extend("examples" = ["LiteSpeed Enterprise"]))]
    pub stand_in_for: Option<String>,
}

/// How a subject is built.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBuild {
    /// The command, one item per argument, without a shell; {study} is the study's folder.
    #[schemars(length(min = 1), extend("examples" = [["make", "server"]]))]
    pub command: Vec<String>,
    /// The folder in which it runs, below the study's. Default: the study's folder.
    #[schemars(extend("examples" = ["server"]))]
    pub folder: Option<String>,
}

/// A revision of a git repository.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawGit {
    /// The repository, or a folder in it to build and start in; relative to the study's folder. Default: the study's folder.
    #[schemars(length(min = 1), extend("examples" = [".."]))]
    pub repo: Option<String>,
    /// A branch, a tag, a hash, A...B for a merge base, or . for the working tree.
    #[schemars(length(min = 1), extend("examples" = ["main"]))]
    pub rev: String,
    /// The commands that build it, each split into words without a shell. Default: the checkout is the build.
    #[schemars(length(min = 1), extend("examples" = [["make server"]]))]
    pub build: Option<Vec<String>>,
}

/// A program that you have to install yourself.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBring {
    /// The program that must be there: a name on PATH, or a path.
    #[schemars(extend("examples" = ["lshttpd"]))]
    pub program: String,
    /// How to get it; shown when it is missing.
    #[schemars(extend("examples" = ["download it from its maker, and put it on PATH"]))]
    pub how: String,
}
