//! The files that a NATS server needs to limit controllers and agents to their own subjects: its
//! configuration, a certificate, and a user for each of them.
//!
//! Permissions are derived from the subjects that are used ([`subject`](crate::message::subject)),
//! so that they cannot differ.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use crate::bus::nats::inbox;
use crate::message::subject::{
    ALL_AGENTS, ALL_RUNS, address, agent_subject, beat_subject, control_subject, join_subject,
};

/// A NATS server to set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BusSetup {
    /// The names and addresses of the server, in addition to this machine's loopback ones.
    pub hosts: Vec<String>,
    pub port: u16,
    /// The number of agents that get credentials.
    pub agents: u16,
}

/// A file of the setup. All files are secret, except the authority's certificate.
#[derive(Clone, PartialEq, Eq)]
pub struct SetupFile {
    pub name: String,
    pub text: String,
}

/// Why a setup cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum BusSetupError {
    #[error("`{0}` is neither the name nor the address of a machine, such as bus.lan or 10.0.0.1")]
    Host(String),
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot read random bytes: {0}")]
    Random(#[from] io::Error),
}

struct User {
    name: String,
    password: String,
    publish: Vec<String>,
    subscribe: Vec<String>,
}

/// The names and addresses of a server on this machine.
const OWN_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "::1"];
/// The number of random bytes in a password.
const PASSWORD_BYTES: usize = 32;
/// The largest message, for plans with many requests: the largest value that NATS recommends.
const PAYLOAD: &str = "8MB";
/// The number of characters in a line of PEM.
const PEM_LINE: usize = 64;

impl BusSetup {
    /// Creates the files. None contains the key of the authority, so that no holder of the files
    /// can make a certificate that agents trust.
    pub fn files(&self) -> Result<Vec<SetupFile>, BusSetupError> {
        let [authority, certificate, key] = self.certificates()?;
        let mut users = vec![User::controller()?];
        for number in 1..=self.agents {
            users.push(User::agent(number)?);
        }
        let file = |name: &str, text: String| SetupFile {
            name: name.to_owned(),
            text,
        };
        let mut files = vec![
            file("nats.conf", self.configuration(&users)),
            file("server.pem", certificate),
            file("server-key.pem", key),
            file("ca.pem", authority),
        ];
        let credentials = users.iter().map(|user| {
            file(
                &format!("{}.creds", user.name),
                format!("{}:{}\n", user.name, user.password),
            )
        });
        files.extend(credentials);
        Ok(files)
    }

    /// The certificates of the authority and of the server, and the server's key.
    fn certificates(&self) -> Result<[String; 3], BusSetupError> {
        let mut names: Vec<String> = OWN_HOSTS.map(str::to_owned).to_vec();
        for host in &self.hosts {
            if !is_host(host) {
                return Err(BusSetupError::Host(host.clone()));
            }
            if !names.contains(host) {
                names.push(host.clone());
            }
        }
        let mut authority = CertificateParams::new(Vec::new())?;
        authority
            .distinguished_name
            .push(DnType::CommonName, "abx bus authority");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate()?;
        let certificate = authority.self_signed(&authority_key)?;
        let mut server = CertificateParams::new(names)?;
        server
            .distinguished_name
            .push(DnType::CommonName, "abx bus");
        server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        server.use_authority_key_identifier_extension = true;
        let server_key = KeyPair::generate()?;
        let signed = server.signed_by(&server_key, &Issuer::new(authority, authority_key))?;
        Ok([
            pem("CERTIFICATE", certificate.der()),
            pem("CERTIFICATE", signed.der()),
            pem("PRIVATE KEY", &server_key.serialize_der()),
        ])
    }

    fn configuration(&self, users: &[User]) -> String {
        let users: String = users.iter().map(User::configuration).collect();
        format!(
            "# Written by `abx bus init`. Start the server in this folder: nats-server -c nats.conf\n\
             port: {}\n\
             max_payload: {PAYLOAD}\n\
             tls {{\n  cert_file: \"server.pem\"\n  key_file: \"server-key.pem\"\n}}\n\
             authorization {{\n  timeout: 5\n  users: [\n{users}  ]\n}}\n",
            self.port
        )
    }
}

impl User {
    /// Publishes orders to agents, and receives from all of them.
    fn controller() -> io::Result<User> {
        let name = "controller".to_owned();
        Ok(User {
            password: password()?,
            publish: vec![agent_subject(ALL_AGENTS), control_subject(ALL_RUNS)],
            subscribe: vec![
                join_subject(ALL_AGENTS),
                beat_subject(ALL_RUNS, ALL_AGENTS),
                format!("{}.>", inbox(&name)),
            ],
            name,
        })
    }

    /// Publishes under its own name, and receives messages to it and to all agents.
    fn agent(number: u16) -> io::Result<User> {
        let name = format!("agent-{number}");
        let address = address(&name, "*");
        Ok(User {
            password: password()?,
            publish: vec![join_subject(&address), beat_subject(ALL_RUNS, &address)],
            subscribe: vec![
                agent_subject(&address),
                control_subject(ALL_RUNS),
                format!("{}.>", inbox(&name)),
            ],
            name,
        })
    }

    /// The user's entry, which allows one response to each request.
    fn configuration(&self) -> String {
        format!(
            "    {{\n      user: \"{}\"\n      password: \"{}\"\n      permissions: {{\n\
             \x20       publish: {}\n        subscribe: {}\n        allow_responses: true\n      }}\n    }}\n",
            self.name,
            self.password,
            list(&self.publish),
            list(&self.subscribe)
        )
    }
}

fn list(subjects: &[String]) -> String {
    let quoted: Vec<String> = subjects
        .iter()
        .map(|subject| format!("\"{subject}\""))
        .collect();
    format!("[{}]", quoted.join(", "))
}

fn password() -> io::Result<String> {
    let mut bytes = [0; PASSWORD_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(abx_model::hex(&bytes))
}

/// Whether a text may be the name or address of a machine.
fn is_host(text: &str) -> bool {
    let is_letter =
        |character: char| character.is_ascii_alphanumeric() || "-._".contains(character);
    let is_name = !text.is_empty() && !text.starts_with('-') && text.chars().all(is_letter);
    is_name || text.parse::<IpAddr>().is_ok()
}

fn pem(kind: &str, bytes: &[u8]) -> String {
    let letters = STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {kind}-----\n");
    let mut rest = letters.as_str();
    while !rest.is_empty() {
        let (line, left) = rest.split_at(rest.len().min(PEM_LINE));
        // Writing to a string never fails.
        let _ = writeln!(text, "{line}");
        rest = left;
    }
    let _ = writeln!(text, "-----END {kind}-----");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_names_and_addresses() {
        // Method: names, addresses, and texts that resemble them.
        for (host, is_valid) in [
            ("bus.lan", true),
            ("bus-1", true),
            ("10.0.0.1", true),
            ("2001:db8::1", true),
            ("", false),
            ("tls://bus", false),
            ("bus:4222", false),
            ("a b", false),
            ("-x", false),
            ("x\"", false),
        ] {
            let setup = BusSetup {
                hosts: vec![host.to_owned()],
                port: 4222,
                agents: 1,
            };
            assert_eq!(setup.files().is_ok(), is_valid, "{host}");
        }
    }

    #[test]
    fn every_user_has_a_distinct_password() {
        // Method: two setups; each password is only in the user's file and in the configuration of
        // the server.
        let setup = BusSetup {
            hosts: Vec::new(),
            port: 4222,
            agents: 3,
        };
        let both = [setup.files().unwrap(), setup.files().unwrap()].concat();
        let credentials: Vec<&SetupFile> = both
            .iter()
            .filter(|file| file.name.ends_with(".creds"))
            .collect();
        assert_eq!(credentials.len(), 8);
        for file in credentials {
            let (user, password) = file.text.trim().split_once(':').unwrap();
            assert_eq!(file.name, format!("{user}.creds"));
            assert_eq!(password.len(), 2 * PASSWORD_BYTES);
            let files = both.iter().filter(|file| file.text.contains(password));
            let names: Vec<&str> = files.map(|file| file.name.as_str()).collect();
            assert_eq!(names, ["nats.conf", &file.name]);
        }
    }
}
