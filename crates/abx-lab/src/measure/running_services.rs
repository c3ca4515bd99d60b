//! Services that run together with the subjects of a block.

use std::collections::BTreeMap;

use abx_evidence::record::BlockService;
use abx_sys::Nanos;
use abx_sys::tree::ProcTree;

use crate::measure::abort::Abort;
use crate::measure::host::services::ServiceHost;
use crate::process::server_process::ServerProcessError;
use crate::process::service_process::{ServiceError, ServiceProcess};
use abx_study::placeholder::FilledWord;
use abx_study::service::StudyService;

/// Services of a study, each with its process while it runs.
pub struct RunningServices {
    slots: Vec<ServiceSlot>,
    words: Vec<FilledWord>,
    /// How often a service exited or was no longer ready.
    pub deaths: u32,
}

struct ServiceSlot {
    name: String,
    process: Option<ServiceProcess>,
    /// Whether the process has served a block already.
    is_used: bool,
}

impl RunningServices {
    /// Slots for these services, none of which runs yet.
    #[must_use]
    pub fn none_of(services: &[StudyService]) -> RunningServices {
        let slot = |service: &StudyService| ServiceSlot {
            name: service.name.clone(),
            process: None,
            is_used: false,
        };
        RunningServices {
            slots: services.iter().map(slot).collect(),
            words: Vec::new(),
            deaths: 0,
        }
    }

    /// The placeholders of the services that run.
    #[must_use]
    pub fn words(&self) -> &[FilledWord] {
        &self.words
    }

    /// Whether a service has served a block.
    #[must_use]
    pub fn is_used(&self, service: usize) -> bool {
        self.slots[service].is_used
    }

    /// Takes a service's process out of its slot, if it runs.
    pub fn take(&mut self, service: usize) -> Option<ServiceProcess> {
        self.slots[service].process.take()
    }

    /// Puts a service's process into its slot; `is_used` if it has served a block already.
    pub fn put(&mut self, service: usize, process: ServiceProcess, is_used: bool) {
        let slot = &mut self.slots[service];
        (slot.process, slot.is_used) = (Some(process), is_used);
        let running = self.slots.iter().filter_map(|slot| slot.process.as_ref());
        self.words = running.flat_map(ServiceProcess::leads).collect();
    }

    /// Counts an unexpected exit, and stops the rest of the service.
    pub fn clear_away(&mut self, service: &str) {
        self.deaths += 1;
        let slot = self.slots.iter_mut().find(|slot| slot.name == service);
        if let Some(process) = slot.and_then(|slot| slot.process.take()) {
            process.stop();
        }
    }

    /// Notes that every service has now served a block.
    pub fn note_used(&mut self) {
        for slot in &mut self.slots {
            slot.is_used = true;
        }
    }

    /// The process trees of the services, in the order of the study.
    #[must_use]
    pub fn trees(&self) -> Vec<Option<ProcTree>> {
        let slots = self.slots.iter();
        slots
            .map(|slot| slot.process.as_ref().and_then(ServiceProcess::tree))
            .collect()
    }

    /// Checks that all services still run.
    ///
    /// # Errors
    /// [`Abort::ServiceDied`].
    pub fn check(&mut self) -> Result<(), Abort> {
        for slot in &mut self.slots {
            let checked = slot.process.as_mut().map_or(Ok(()), ServiceProcess::check);
            checked.map_err(|error| Abort::ServiceDied {
                name: slot.name.clone(),
                error: Box::new(error),
            })?;
        }
        Ok(())
    }

    /// The services' entries in the record of a block that ended like this.
    pub fn record(
        &self,
        host: &mut ServiceHost,
        ended: &Result<(), Abort>,
    ) -> BTreeMap<String, BlockService> {
        let slots = self.slots.iter().enumerate();
        let records = slots.filter_map(|(service, slot)| {
            let process = slot.process.as_ref()?;
            let died = match ended {
                Err(Abort::ServiceDied { name, error }) if *name == slot.name => Some(how(error)),
                _ => None,
            };
            let record = BlockService {
                port: process.port(),
                started: !slot.is_used,
                ready_s: process.ready_s(),
                seed_s: process.seed_s,
                cpu_s: host.cpu_of_block(service).map(Nanos::as_secs_f64),
                rss_bytes_max: host.rss_bytes_max(service),
                died,
            };
            Some((slot.name.clone(), record))
        });
        records.collect()
    }

    /// Stops all services, the last one first.
    pub fn stop(&mut self) {
        for slot in self.slots.iter_mut().rev() {
            if let Some(process) = slot.process.take() {
                process.stop();
            }
        }
    }
}

/// How a service ended, in short.
pub fn how(error: &ServiceError) -> String {
    match error {
        ServiceError::Process(ServerProcessError::Ended { how, .. }) => how.clone(),
        other => other.to_string(),
    }
}

impl Drop for RunningServices {
    fn drop(&mut self) {
        self.stop();
    }
}
