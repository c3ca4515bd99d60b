//! Images of containers.

use super::missing::{Missing, Remedy};
use super::system::System;
use crate::process::container::{ImagePresence, presence};
use abx_study::container::ContainerEngine;

/// An image that the engine does not have, or an engine that is not there or gives no response.
pub fn missing(subject: &str, image: &str, system: &System) -> Vec<Missing> {
    let result = ContainerEngine::find(system.path.as_ref(), system.engine.as_deref());
    let lacks = |what: String, remedy: Remedy| {
        vec![Missing {
            subject: subject.to_owned(),
            what,
            remedy,
        }]
    };
    let engine = match result {
        Ok(engine) => engine,
        Err(none) => {
            let how = "install one, such as the package podman, and add it to PATH";
            return lacks(none.sought, Remedy::ByHand(how.to_owned()));
        }
    };
    match presence(&engine, image) {
        ImagePresence::There(_) => Vec::new(),
        ImagePresence::Missing => {
            let pull = [engine.name(), "pull".to_owned(), image.to_owned()];
            let pull = Remedy::Install(vec![pull.to_vec()]);
            lacks(format!("the image {image}"), pull)
        }
        ImagePresence::Unknown(why) => {
            let name = engine.name();
            let how = format!("resolve this error of {name}: {why}");
            lacks(format!("the image {image}"), Remedy::ByHand(how))
        }
    }
}
