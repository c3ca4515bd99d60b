//! Images of containers.

use super::missing::{Missing, Remedy};
use super::system::System;
use crate::process::container::{ImagePresence, presence};
use abx_study::container::ContainerEngine;

/// The image if the engine does not have it, or an engine if there is none or it fails.
pub fn missing(subject: &str, image: &str, system: &System) -> Vec<Missing> {
    let missing = |what: String, remedy: Remedy| {
        vec![Missing {
            subject: subject.to_owned(),
            what,
            remedy,
        }]
    };
    let engine = match ContainerEngine::find(system.path.as_ref(), system.engine.as_deref()) {
        Ok(engine) => engine,
        Err(no_engine) => {
            let how = "install one, such as the package podman, and add it to PATH";
            return missing(no_engine.sought, Remedy::ByHand(how.to_owned()));
        }
    };
    match presence(&engine, image) {
        ImagePresence::There(_) => Vec::new(),
        ImagePresence::Missing => {
            let pull = vec![engine.name(), "pull".to_owned(), image.to_owned()];
            missing(format!("the image {image}"), Remedy::Install(vec![pull]))
        }
        ImagePresence::Unknown(why) => {
            let how = format!("resolve this error of {}: {why}", engine.name());
            missing(format!("the image {image}"), Remedy::ByHand(how))
        }
    }
}
