//! How servers are obtained, as a study file writes it.

use schemars::JsonSchema;
use serde::Deserialize;

/// How a subject is obtained. What is missing is listed, and installed only with --install.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
pub struct RawFrom {
    /// It is a container of this image, which podman or docker runs; the words of `command` are for the image.
    #[schemars(extend("examples" = ["nginx:1.27"]))]
    pub image: Option<String>,
    /// Packages of the system.
    #[schemars(length(min = 1), extend("examples" = [["nginx-light"]]))]
    pub packages: Option<Vec<String>>,
    /// Packages of npm.
    #[schemars(length(min = 1), extend("examples" = [["ws@8"]]))]
    pub npm: Option<Vec<String>>,
    /// Packages of the Python Package Index.
    #[schemars(length(min = 1), extend("examples" = [["uvicorn"]]))]
    pub pypi: Option<Vec<String>>,
    /// Artifacts of Maven.
    #[schemars(length(min = 1), extend("examples" = [["group:artifact:1.0"]]))]
    pub maven: Option<Vec<String>>,
    /// Crates with a program.
    #[schemars(length(min = 1), extend("examples" = [["miniserve"]]))]
    pub cargo: Option<Vec<String>>,
    /// It is built, after everything else is there.
    pub build: Option<RawBuild>,
    /// It is a revision of a git repository, built once and started in its checkout.
    pub git: Option<RawGit>,
    /// It has to be brought by the user.
    pub bring: Option<RawBring>,
    /// The server that was meant, when this one stands in for it; reports say so.
    #[schemars(extend("examples" = ["LiteSpeed Enterprise"]))]
    pub stand_in_for: Option<String>,
}

/// How a subject is built.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBuild {
    /// The command, word by word and without a shell; {study} is the study's folder.
    #[schemars(length(min = 1), extend("examples" = [["make", "server"]]))]
    pub command: Vec<String>,
    /// The folder it runs in, below the study's. Default: the study's folder.
    #[schemars(extend("examples" = ["server"]))]
    pub folder: Option<String>,
}

/// A revision of a git repository.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawGit {
    /// The repository, or a folder in it to build and start in; from the study's folder. Default: the study's folder.
    #[schemars(length(min = 1), extend("examples" = [".."]))]
    pub repo: Option<String>,
    /// A branch, a tag, a hash, A...B for a merge base, or . for the working tree.
    #[schemars(length(min = 1), extend("examples" = ["main"]))]
    pub rev: String,
    /// The commands that build it, one text each, split into words without a shell. Default: the checkout is the build.
    #[schemars(length(min = 1), extend("examples" = [["make server"]]))]
    pub build: Option<Vec<String>>,
}

/// A program that has to be brought.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RawBring {
    /// The program that must be there: a name on PATH, or a path.
    #[schemars(extend("examples" = ["lshttpd"]))]
    pub program: String,
    /// How a person gets it; shown when it is missing.
    #[schemars(extend("examples" = ["download it from its maker, and put it on PATH"]))]
    pub how: String,
}
