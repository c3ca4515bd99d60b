//! How a folder of the cache is filled: by a language's own installer, or by the study's build.

pub(crate) mod content_hash;
pub(crate) mod folder;
mod pom;

use std::path::{Path, PathBuf};

use super::environment::Environment;
use abx_study::placeholder::{PlaceholderValues, fill};
use content_hash::{ContentHash, ContentHashError};
use folder::CacheFolder;
use pom::{Artifact, pom};

/// A folder, and the commands that fill it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recipe {
    /// Its name for the user: `ws@8 from npm`.
    pub what: String,
    pub folder: CacheFolder,
    /// The names and texts of files that are written into the folder first.
    pub files: Vec<(&'static str, String)>,
    /// The commands to run in order, each an argument list.
    pub commands: Vec<Vec<String>>,
    kind: RecipeKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RecipeKind {
    Npm,
    Pypi,
    Maven,
    Cargo,
    Build(Sources),
}

/// What the result of a build depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sources {
    /// The argument list as the study file has it.
    pub command: Vec<String>,
    pub study: PathBuf,
    /// The folder in which the command runs; everything below is a source.
    pub folder: PathBuf,
    /// The names of the earlier steps.
    pub before: Vec<String>,
}

/// The plugin that copies the files that Maven has fetched, in a version that runs on Maven 3.6.3
/// and later.
const COPY_DEPENDENCIES: &str =
    "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies";

impl Recipe {
    /// Packages of npm.
    pub fn npm(list: &[String], cache: &Path) -> Recipe {
        Recipe::listed(RecipeKind::Npm, "npm", list, cache, |folder| {
            let words = [
                "npm",
                "install",
                "--no-audit",
                "--no-fund",
                "--prefix",
                folder,
            ];
            vec![command(&words, list)]
        })
    }

    /// Packages of the Python Package Index, in a virtual environment.
    pub fn pypi(list: &[String], cache: &Path) -> Recipe {
        Recipe::listed(RecipeKind::Pypi, "pypi", list, cache, |folder| {
            let python = format!("{folder}/bin/python");
            let make = ["python3", "-m", "venv", folder].map(str::to_owned);
            let words = [
                python.as_str(),
                "-m",
                "pip",
                "install",
                "--disable-pip-version-check",
                "--no-input",
            ];
            vec![make.to_vec(), command(&words, list)]
        })
    }

    /// Programs of crates.
    pub fn cargo(list: &[String], cache: &Path) -> Recipe {
        Recipe::listed(RecipeKind::Cargo, "cargo", list, cache, |folder| {
            vec![command(
                &["cargo", "install", "--locked", "--root", folder],
                list,
            )]
        })
    }

    /// Artifacts of Maven, and all that they need at run time.
    ///
    /// # Errors
    /// The first text that does not name an artifact.
    pub fn maven<'a>(list: &'a [String], cache: &Path) -> Result<Recipe, &'a str> {
        let parse = |text: &'a String| Artifact::parse(text).ok_or(text.as_str());
        let artifacts: Vec<Artifact> = list.iter().map(parse).collect::<Result<_, _>>()?;
        let mut recipe = Recipe::listed(RecipeKind::Maven, "maven", list, cache, |folder| {
            let words = [
                "mvn",
                "--batch-mode",
                "--file",
                &format!("{folder}/pom.xml"),
                COPY_DEPENDENCIES,
                "-DincludeScope=runtime",
                &format!("-DoutputDirectory={folder}/jars"),
            ];
            vec![words.map(str::to_owned).to_vec()]
        });
        recipe.files.push(("pom.xml", pom(&artifacts)));
        Ok(recipe)
    }

    /// A build by the study's own command.
    ///
    /// # Errors
    /// [`ContentHashError`] if the sources cannot be hashed.
    pub fn build(
        subject: &str,
        sources: Sources,
        cache: &Path,
    ) -> Result<Recipe, ContentHashError> {
        // Without the subject's name: subjects with equal builds share the folder.
        let name = format!("build-{}", sources.fingerprint()?);
        let folder = CacheFolder::new(cache, &name);
        Ok(Recipe {
            what: format!("the build of {subject}"),
            files: Vec::new(),
            commands: vec![sources.filled(Some(folder.path()))],
            folder,
            kind: RecipeKind::Build(sources),
        })
    }

    fn listed(
        kind: RecipeKind,
        name: &str,
        list: &[String],
        cache: &Path,
        commands: impl Fn(&str) -> Vec<Vec<String>>,
    ) -> Recipe {
        let mut fingerprint = ContentHash::new(name);
        fingerprint.add_words(list);
        let folder = CacheFolder::new(cache, &format!("{name}-{}", fingerprint.name()));
        Recipe {
            what: format!("{} from {name}", list.join(", ")),
            files: Vec::new(),
            commands: commands(&folder.path().to_string_lossy()),
            folder,
            kind,
        }
    }

    /// The sources, if it is a build.
    pub fn sources(&self) -> Option<&Sources> {
        match &self.kind {
            RecipeKind::Build(sources) => Some(sources),
            RecipeKind::Npm | RecipeKind::Pypi | RecipeKind::Maven | RecipeKind::Cargo => None,
        }
    }

    /// The folder in which its commands run.
    pub fn directory(&self) -> &Path {
        let sources = self.sources();
        sources.map_or(self.folder.path(), |sources| &sources.folder)
    }

    pub fn is_complete(&self) -> bool {
        // A virtual environment links to the system's interpreter, which may have gone.
        let has_python = || self.folder.path().join("bin/python").exists();
        self.folder.is_complete() && (self.kind != RecipeKind::Pypi || has_python())
    }

    /// Adds the folders in which later commands and the subject find its results.
    pub fn add_to(&self, environment: &mut Environment) {
        let folder = self.folder.path();
        match self.kind {
            RecipeKind::Npm => {
                environment.add_programs(&folder.join("node_modules/.bin"));
                environment.add_node_modules(&folder.join("node_modules"));
            }
            RecipeKind::Pypi | RecipeKind::Cargo => environment.add_programs(&folder.join("bin")),
            RecipeKind::Maven => environment.add_java_archives(&folder.join("jars")),
            RecipeKind::Build(_) => {}
        }
    }
}

impl Sources {
    /// A name that changes with the command, with every file below the folder, and with the earlier
    /// steps.
    ///
    /// # Errors
    /// [`ContentHashError`] if the sources cannot be hashed.
    pub fn fingerprint(&self) -> Result<String, ContentHashError> {
        let mut fingerprint = ContentHash::new("build");
        fingerprint.add_words(&self.command);
        // The study's folder matters only to a command that names it.
        fingerprint.add_words(&self.filled(None));
        fingerprint.add_words(&self.before);
        fingerprint.add_folder(&self.folder)?;
        Ok(fingerprint.name())
    }

    /// The argument list with its placeholders filled; `{build}` stays if it is not known yet.
    fn filled(&self, build: Option<&Path>) -> Vec<String> {
        let values = PlaceholderValues {
            // A study file with either of these two in a build is refused.
            port: 0,
            dir: Path::new(""),
            study: &self.study,
            // A build is named for its content, and abx is no part of that.
            abx: None,
            build,
            paths: &[],
        };
        self.command
            .iter()
            .map(|word| fill(word, &values))
            .collect()
    }
}

/// These words, and the list after a `--`, so that its words may begin with a dash.
fn command(words: &[&str], list: &[String]) -> Vec<String> {
    let words = words.iter().copied().chain(["--"]);
    let list = list.iter().map(String::as_str);
    words.chain(list).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|&word| word.to_owned()).collect()
    }

    /// The commands as lines, with `DIR` for the folder.
    fn lines(recipe: &Recipe) -> Vec<String> {
        let folder = recipe.folder.path().to_string_lossy();
        let line = |words: &Vec<String>| words.join(" ").replace(&*folder, "DIR");
        recipe.commands.iter().map(line).collect()
    }

    #[test]
    fn each_language_has_its_own_installer() {
        // Method: a table of the commands of each language.
        let cache = Path::new("/c");
        let names = list(&["one", "two@2"]);
        let artifacts = list(&["g:a:1"]);
        let maven = Recipe::maven(&artifacts, cache).unwrap();
        let table = [
            (
                Recipe::npm(&names, cache),
                vec!["npm install --no-audit --no-fund --prefix DIR -- one two@2"],
            ),
            (
                Recipe::pypi(&names, cache),
                vec![
                    "python3 -m venv DIR",
                    "DIR/bin/python -m pip install --disable-pip-version-check --no-input -- one two@2",
                ],
            ),
            (
                Recipe::cargo(&names, cache),
                vec!["cargo install --locked --root DIR -- one two@2"],
            ),
            (
                maven,
                vec![
                    "mvn --batch-mode --file DIR/pom.xml \
                     org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies \
                     -DincludeScope=runtime -DoutputDirectory=DIR/jars",
                ],
            ),
        ];
        for (recipe, expected) in &table {
            assert_eq!(&lines(recipe), expected);
            assert_eq!(recipe.directory(), recipe.folder.path());
        }
        assert_eq!(table[0].0.what, "one, two@2 from npm");
        assert_eq!(table[3].0.files[0].0, "pom.xml");
        assert_eq!(Recipe::maven(&list(&["g:a"]), cache), Err("g:a"));
    }

    #[test]
    fn each_list_has_its_own_folder() {
        // Method: the same list twice, another list, and another installer.
        let cache = Path::new("/c");
        let folder = |words: &[&str]| Recipe::npm(&list(words), cache).folder;
        assert_eq!(folder(&["a", "b"]), folder(&["a", "b"]));
        assert_ne!(folder(&["a", "b"]), folder(&["a b"]));
        let other = Recipe::cargo(&list(&["a", "b"]), cache).folder;
        assert_ne!(folder(&["a", "b"]), other);
    }

    #[test]
    fn each_kind_of_folder_has_its_own_variable() {
        // Method: the variables that one recipe of each kind adds.
        let cache = Path::new("/c");
        let names = list(&["g:a:1"]);
        let variables = |recipe: &Recipe| {
            let mut environment = Environment::new("/bin");
            recipe.add_to(&mut environment);
            let folder = recipe.folder.path().to_string_lossy().into_owned();
            environment
                .variables()
                .into_iter()
                .map(|(name, value)| format!("{name}={value}").replace(&folder, "DIR"))
                .collect::<Vec<_>>()
        };
        let npm = [
            "PATH=DIR/node_modules/.bin:/bin",
            "NODE_PATH=DIR/node_modules",
        ];
        assert_eq!(variables(&Recipe::npm(&names, cache)), npm);
        let programs = ["PATH=DIR/bin:/bin"];
        assert_eq!(variables(&Recipe::pypi(&names, cache)), programs);
        assert_eq!(variables(&Recipe::cargo(&names, cache)), programs);
        let maven = Recipe::maven(&names, cache).unwrap();
        assert_eq!(variables(&maven), ["CLASSPATH=DIR/jars/*"]);
    }

    #[test]
    fn an_environment_of_python_without_its_interpreter_is_not_complete() {
        // Method: a complete folder whose link leads nowhere, and then to a program.
        let cache = tempfile::tempdir().unwrap();
        let recipe = Recipe::pypi(&list(&["a"]), cache.path());
        recipe.folder.empty().unwrap();
        recipe.folder.complete("").unwrap();
        let bin = recipe.folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::os::unix::fs::symlink("/nowhere/python3", bin.join("python")).unwrap();
        assert!(!recipe.is_complete());
        std::fs::remove_file(bin.join("python")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", bin.join("python")).unwrap();
        assert!(recipe.is_complete());
    }
}
