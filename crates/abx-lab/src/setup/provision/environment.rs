//! The part of a subject's environment that comes from installations for it.

use std::path::Path;

/// The variables by which programs and libraries in the cache are found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// `PATH` as abx has it.
    path: String,
    front: Vec<String>,
    back: Vec<String>,
    node_path: Vec<String>,
    class_path: Vec<String>,
}

/// Where Debian keeps servers; the `PATH` of its ordinary users lacks it.
const SERVERS: &str = "/usr/sbin";

impl Environment {
    /// Nothing gained yet, with this `PATH` below it.
    pub fn new(path: &str) -> Environment {
        Environment {
            path: path.to_owned(),
            front: Vec::new(),
            back: Vec::new(),
            node_path: Vec::new(),
            class_path: Vec::new(),
        }
    }

    /// A folder of programs, after those that came before and before `PATH`.
    pub fn add_programs(&mut self, folder: &Path) {
        self.front.push(folder.to_string_lossy().into_owned());
    }

    /// The folder where packages of the system have their servers.
    pub fn add_system_servers(&mut self) {
        let mut folders = self
            .path
            .split(':')
            .chain(self.back.iter().map(|text| &**text));
        if !folders.any(|folder| folder == SERVERS) {
            self.back.push(SERVERS.to_owned());
        }
    }

    /// A folder of Node.js modules.
    pub fn add_node_modules(&mut self, folder: &Path) {
        self.node_path.push(folder.to_string_lossy().into_owned());
    }

    /// A folder of Java archives.
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
    fn folders_are_found_in_the_order_in_which_they_came() {
        // Method: two folders of programs and one of each other kind.
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
    fn what_is_on_the_path_already_changes_nothing() {
        // Method: the folder of servers at the end of `PATH`.
        let mut environment = Environment::new("/bin:/usr/sbin");
        environment.add_system_servers();
        assert_eq!(environment.variables(), []);
        assert_eq!(Environment::new("").path(), "");
    }
}
