//! Whether anything other than the load used the machine.

use crate::findings::machine::background_work::background_work;
use crate::findings::machine::foreign_cpu::foreign_cpu;
use crate::findings::machine::generator_paused::paused;
use crate::findings::machine::generator_wait::generator_wait;
use crate::findings::machine::steal::steal;
use crate::view::OfferView;

pub(super) fn any(view: &OfferView) -> bool {
    let conditions = [paused, steal, foreign_cpu, generator_wait, background_work];
    conditions.iter().any(|condition| condition(view).is_some())
}
