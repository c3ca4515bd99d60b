//! `abx bus init`: the files of a NATS server that agents and controllers may trust.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use abx_fleet::{BusSetup, SetupFile};
use clap::{Args, Subcommand};

use crate::flags::output;
use crate::flags::units;
use crate::ui::end::{End, Failure};

/// Set up the message bus between machines that generate load together.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx bus init bus --host 10.0.0.1\n  \
    abx bus init bus --host bus.lan --host 10.0.0.1 --agents 8")]
pub struct BusArgs {
    #[command(subcommand)]
    command: BusCommand,
}

/// What can be done with a bus.
#[derive(Debug, Subcommand)]
enum BusCommand {
    Init(BusInit),
}

/// Write a NATS configuration with TLS, and credentials for a controller and each agent.
///
/// With its credentials an agent can send messages only in its own name, not in that of a
/// controller or of another agent. The command starts nothing, and overwrites nothing.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    abx bus init bus --host 10.0.0.1 --agents 3")]
struct BusInit {
    /// Folder for the files; created if it does not exist.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Name or address at which the other machines reach the server; may be repeated. This machine
    /// can also use localhost.
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// Port of the server.
    #[arg(long, value_name = "PORT", default_value_t = 4222,
          value_parser = units::whole_number::<u16>(1..=65_535, 4222))]
    port: u16,
    /// How many agents get credentials.
    #[arg(long, value_name = "N", default_value_t = 3,
          value_parser = units::whole_number::<u16>(1.., 3))]
    agents: u16,
}

/// Only the owner can read files and folder.
const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Runs a subcommand for the bus.
pub fn bus(args: &BusArgs) -> Result<End, Failure> {
    let BusCommand::Init(init) = &args.command;
    let setup = BusSetup {
        hosts: init.hosts.clone(),
        port: init.port,
        agents: init.agents,
    };
    let files = setup.files().map_err(Failure::usage)?;
    write(&init.folder, &files)?;
    output::to_stdout(&next_steps(init, files.len())).map_err(Failure::no_claim)?;
    Ok(End::Done)
}

/// Writes all files, or none if one of them exists.
fn write(folder: &Path, files: &[SetupFile]) -> Result<(), Failure> {
    let cannot = |path: &Path, why: io::Error| {
        Failure::usage(format!("cannot write {}: {why}", path.display()))
    };
    for file in files {
        let path = folder.join(&file.name);
        if fs::symlink_metadata(&path).is_ok() {
            return Err(Failure::usage(format!(
                "{} already exists, and abx overwrites nothing: name another folder, or remove \
                 that one if no machine may use its files any more",
                path.display()
            )));
        }
    }
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        .map_err(|why| cannot(folder, why))?;
    let mut written = Vec::new();
    for file in files {
        let path = folder.join(&file.name);
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(FILE_MODE)
            .open(&path);
        let result = created.and_then(|mut new| {
            written.push(path.clone());
            new.write_all(file.text.as_bytes())
        });
        if let Err(why) = result {
            // A part of the files would be of no use, and stop the next try.
            for path in &written {
                let _ = fs::remove_file(path);
            }
            return Err(cannot(&path, why));
        }
    }
    Ok(())
}

/// The next steps of the user, on three kinds of machines.
fn next_steps(init: &BusInit, files: usize) -> String {
    let host = init.hosts.first().map_or("localhost", String::as_str);
    let address = if host.contains(':') {
        format!("tls://[{host}]:{}", init.port)
    } else {
        format!("tls://{host}:{}", init.port)
    };
    let quoted = |path: &Path| shell_words::quote(&path.display().to_string()).into_owned();
    let [authority, agent, controller] =
        ["ca.pem", "agent-1.creds", "controller.creds"].map(|name| quoted(&init.folder.join(name)));
    let (folder, agents) = (quoted(&init.folder), init.agents);
    format!(
        "{files} files are in {folder}, for their owner only. Then, in any order:\n\n\
         The bus, at {host}, which needs nats.conf, server.pem and server-key.pem:\n  \
         cd {folder} && nats-server -c nats.conf\n\n\
         Each of {agents} agents, which needs ca.pem and its own *.creds file:\n  \
         abx agent --bus {address} --bus-ca {authority} --bus-creds {agent} \
         --allow-target 10.0.0.0/8\n\n\
         Here, where you want the result:\n  \
         abx run http://10.0.0.7/ -c 300 --bus {address} --bus-ca {authority} \
         --bus-creds {controller} --agents {agents}\n"
    )
}
