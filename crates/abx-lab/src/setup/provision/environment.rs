//! The part of a subject's environment that comes from its installations.

use std::path::Path;

/// The variables that lead to programs and libraries in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// The `PATH` of abx.
    path: String,
    /// Folders before `path`.
    front: Vec<String>,
    /// Folders after `path`.
    back: Vec<String>,
    node_path: Vec<String>,
    class_path: Vec<String>,
}

/// The folder in which Debian keeps servers; the `PATH` of ordinary users lacks it.
const SERVERS: &str = "/usr/sbin";

impl Environment {
    /// An environment with this `PATH`, to which nothing was added yet.
    pub fn new(path: &str) -> Environment {
        Environment {
            path: path.to_owned(),
            front: Vec::new(),
            back: Vec::new(),
            node_path: Vec::new(),
            class_path: Vec::new(),
        }
    }

    /// Adds a folder of programs, after those added before, and before the `PATH` of abx.
    pub fn add_programs(&mut self, folder: &Path) {
        self.front.push(folder.to_string_lossy().into_owned());
    }

    /// Adds the folder in which packages of the system have their servers, unless it is there.
    pub fn add_system_servers(&mut self) {
        let back = self.back.iter().map(String::as_str);
        let mut folders = self.path.split(':').chain(back);
        if !folders.any(|folder| folder == SERVERS) {
            self.back.push(SERVERS.to_owned());
        }
    }

    /// Adds a folder of Node.js modules.
    pub fn add_node_modules(&mut self, folder: &Path) {
        self.node_path.push(folder.to_string_lossy().into_owned());
    }

    /// Adds a folder of Java archives.
    pub fn add_java_archives(&mut self, folder: &Path) {
        let path = folder.join("*");
        self.class_path.push(path.to_string_lossy().into_owned());
    }

    /// `PATH` with the added folders.
    pub fn path(&self) -> String {
        let front = self.front.iter().map(String::as_str);
        let here = Some(self.path.as_str()).filter(|path| !path.is_empty());
        let back = self.back.iter().map(String::as_str);
        front.chain(here).chain(back).collect::<Vec<_>>().join(":")
    }

    /// The variables that differ from those of abx.
    pub fn variables(&self) -> Vec<(String, String)> {
        let mut variables = Vec::new();
        if !self.front.is_empty() || !self.back.is_empty() {
            variables.push(("PATH".to_owned(), self.path()));
        }
        for (name, folders) in [
            ("NODE_PATH", &self.node_path),
            ("CLASSPATH", &self.class_path),
        ] {
            if !folders.is_empty() {
                variables.push((name.to_owned(), folders.join(":")));
            }
        }
        variables
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_keep_the_order_in_which_they_were_added() {
        // Method: two folders of programs, and one of each other kind.
        let mut environment = Environment::new("/usr/bin:/bin");
        assert_eq!(environment.variables(), []);
        environment.add_programs(Path::new("/c/one"));
        environment.add_programs(Path::new("/c/two"));
        environment.add_system_servers();
        environment.add_system_servers();
        environment.add_node_modules(Path::new("/c/one/node_modules"));
        environment.add_java_archives(Path::new("/c/jars"));
        let pairs = [
            ("PATH", "/c/one:/c/two:/usr/bin:/bin:/usr/sbin"),
            ("NODE_PATH", "/c/one/node_modules"),
            ("CLASSPATH", "/c/jars/*"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(environment.variables(), pairs);
    }

    #[test]
    fn a_folder_that_is_on_the_path_already_changes_nothing() {
        // Method: the folder of servers at the end of `PATH`; and an empty `PATH`.
        let mut environment = Environment::new("/bin:/usr/sbin");
        environment.add_system_servers();
        assert_eq!(environment.variables(), []);
        assert_eq!(Environment::new("").path(), "");
    }
}
