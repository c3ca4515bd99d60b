//! The project file by which Maven fetches artifacts and their dependencies.

/// An artifact of Maven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Artifact<'a> {
    group: &'a str,
    name: &'a str,
    version: &'a str,
    kind: Option<&'a str>,
    classifier: Option<&'a str>,
}

impl<'a> Artifact<'a> {
    /// Reads `group:artifact:version[:type[:classifier]]`; `None` for other text.
    pub fn parse(text: &'a str) -> Option<Artifact<'a>> {
        // None of these characters has a meaning in XML.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let parts: Vec<&str> = text.split(':').collect();
        let is_part = |part: &&str| !part.is_empty() && part.bytes().all(is_plain);
        if !(3..=5).contains(&parts.len()) || !parts.iter().all(is_part) {
            return None;
        }
        Some(Artifact {
            group: parts[0],
            name: parts[1],
            version: parts[2],
            kind: parts.get(3).copied(),
            classifier: parts.get(4).copied(),
        })
    }

    fn dependency(&self) -> String {
        let mut elements = vec![
            ("groupId", self.group),
            ("artifactId", self.name),
            ("version", self.version),
        ];
        elements.extend(self.kind.map(|kind| ("type", kind)));
        elements.extend(self.classifier.map(|text| ("classifier", text)));
        let elements: String = elements
            .iter()
            .map(|(name, value)| format!("      <{name}>{value}</{name}>\n"))
            .collect();
        format!("    <dependency>\n{elements}    </dependency>\n")
    }
}

/// A project that has no content, and depends on these artifacts.
pub fn pom(artifacts: &[Artifact]) -> String {
    let dependencies: String = artifacts.iter().map(Artifact::dependency).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>abx</groupId>
  <artifactId>needs</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
{dependencies}  </dependencies>
</project>
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_become_dependencies() {
        // Method: the shortest and the longest coordinates.
        let texts = ["org.a:b-c:1.0", "g:a:2:zip:linux_x86"];
        let artifacts = texts.map(|text| Artifact::parse(text).unwrap());
        let pom = pom(&artifacts);
        let lines: Vec<&str> = pom.lines().map(str::trim).collect();
        let from = lines
            .iter()
            .position(|line| *line == "<dependencies>")
            .unwrap();
        let expected = [
            "<dependency>",
            "<groupId>org.a</groupId>",
            "<artifactId>b-c</artifactId>",
            "<version>1.0</version>",
            "</dependency>",
            "<dependency>",
            "<groupId>g</groupId>",
            "<artifactId>a</artifactId>",
            "<version>2</version>",
            "<type>zip</type>",
            "<classifier>linux_x86</classifier>",
            "</dependency>",
            "</dependencies>",
        ];
        assert_eq!(lines[from + 1..from + 1 + expected.len()], expected);
    }

    #[test]
    fn invalid_coordinates_are_rejected() {
        // Method: too few parts, too many, empty ones, and characters with a meaning in XML.
        for text in [
            "a:b",
            "a:b:1:jar:x:y",
            "a::1",
            ":b:1",
            "a:b:<1>",
            "a:b:1 2",
            "a:b:[1,2)",
        ] {
            assert_eq!(Artifact::parse(text), None, "{text}");
        }
    }
}
