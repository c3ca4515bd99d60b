//! Starts services before the subjects of a block: services that do not run, that restart with each
//! block, or that use a service which is started.

use std::collections::BTreeSet;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::measure::running_subjects::Abort;
use crate::process::service_process::ServiceProcess;
use crate::run_study::context::StudyContext;
use abx_study::service::{ServiceRestart, StudyService, names};

/// How often services that exited are started again. After that, they would probably exit again.
const DEATHS_MAX: u32 = 3;

impl StudyContext<'_> {
    /// Makes sure that every service runs, is ready and has its data.
    ///
    /// # Errors
    /// [`Abort::Service`], [`Abort::Interrupted`].
    pub fn start_services(&mut self, random: &mut ChaCha8Rng) -> Result<(), Abort> {
        let study = self.study;
        if study.services.is_empty() {
            return Ok(());
        }
        // The draws for a port must not change later draws.
        let mut port_random = ChaCha8Rng::seed_from_u64(random.random());
        let mut stale: BTreeSet<&str> = BTreeSet::new();
        for (place, service) in study.services.iter().enumerate() {
            let uses_stale = (study.services[..place].iter())
                .filter(|other| stale.contains(other.name.as_str()))
                .any(|other| names(service.launch(), &other.name, &other.launch().ports));
            let old = self.services.take(place);
            let is_used = self.services.is_used(place);
            let must_restart = uses_stale || (is_used && service.restart == ServiceRestart::Block);
            let healthy = match old {
                Some(old) if must_restart => {
                    old.stop();
                    None
                }
                Some(old) => self.healthy((place, service), old, &mut port_random)?,
                None => None,
            };
            if let Some(healthy) = healthy {
                self.services.put(place, healthy, is_used);
                continue;
            }
            stale.insert(&service.name);
            let started = self.start_service(service, &mut port_random)?;
            self.services.put(place, started, false);
        }
        Ok(())
    }

    /// The process of a service that was started before, if it is still ready.
    fn healthy(
        &mut self,
        (place, service): (usize, &StudyService),
        mut process: ServiceProcess,
        random: &mut ChaCha8Rng,
    ) -> Result<Option<ServiceProcess>, Abort> {
        let mut draw = |below: u32| random.random_range(0..below.max(1));
        let health = process.check_health(service, &self.start_context(&mut draw));
        match health {
            Ok(()) => Ok(Some(process)),
            Err(error) if error.is_stop() => Err(Abort::Interrupted),
            Err(error) => {
                self.services.put(place, process, true);
                self.note_death(Abort::ServiceDied {
                    name: service.name.clone(),
                    error: Box::new(error),
                })?;
                Ok(None)
            }
        }
    }

    /// Counts the death of a service and clears it away; the next block starts it again.
    ///
    /// # Errors
    /// [`Abort::Service`] if services died too often; any other `abort` as it is.
    pub fn note_death(&mut self, abort: Abort) -> Result<(), Abort> {
        let Abort::ServiceDied { name, error } = abort else {
            return Err(abort);
        };
        self.services.clear_away(&name);
        if self.services.deaths > DEATHS_MAX {
            Err(Abort::Service { name, error })
        } else {
            Ok(())
        }
    }

    /// The actual cause of an abort: a service that exited, if one did.
    #[must_use]
    pub fn blame(&mut self, abort: Abort) -> Abort {
        match abort {
            Abort::Interrupted => abort,
            abort => self.services.check().err().unwrap_or(abort),
        }
    }

    fn start_service(
        &self,
        service: &StudyService,
        random: &mut ChaCha8Rng,
    ) -> Result<ServiceProcess, Abort> {
        let mut draw = |below: u32| random.random_range(0..below.max(1));
        let mut start = self.start_context(&mut draw);
        // Only subjects use generated files.
        start.files = &[];
        let started = ServiceProcess::start(service, &mut start, self.deadline);
        started.map_err(|error| Abort::service(&service.name, error))
    }
}
