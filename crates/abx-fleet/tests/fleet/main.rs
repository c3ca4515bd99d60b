//! A controller and its agents through their public interface: one suite for every bus.
//!
//! Agents run on threads of this process, each with a separate connection that can be cut. The
//! server counts the requests.

#![allow(clippy::unwrap_used, reason = "all of this is a test")]

mod agents;
mod by_hand;
mod cases;
mod crowd;
mod hostile;
mod local_bus;
mod losses;
#[cfg(feature = "nats")]
mod nats_server;
#[cfg(feature = "nats")]
mod permissions;
mod server;

use std::sync::Arc;
use std::time::{Duration, Instant};

use abx_fleet::Bus;

/// The bus of a test.
pub(crate) trait TestBus: Sync {
    /// Starts the bus.
    fn start() -> Self;

    /// A connection to the bus, and a handle that cuts it.
    fn connect(&self) -> (Arc<dyn Bus>, Arc<dyn Cut>);
}

/// Cuts a connection without notice to either side.
pub(crate) trait Cut: Send + Sync {
    /// Cuts or restores the connection.
    fn cut(&self, is_cut: bool);
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Every case on one bus.
macro_rules! suite {
    ($name:ident, $bus:ty, [$($case:ident),+ $(,)?]) => {
        mod $name {
            $(#[test]
            fn $case() {
                crate::cases::$case(&<$bus as crate::TestBus>::start());
            })+
        }
    };
}

macro_rules! on_every_bus {
    ($($case:ident),+ $(,)?) => {
        suite!(local, crate::local_bus::LocalTestBus, [$($case),+]);
        #[cfg(feature = "nats")]
        suite!(nats, crate::nats_server::NatsServer, [$($case),+]);
    };
}

on_every_bus!(
    three_agents_make_exactly_the_load_that_one_would,
    a_rate_is_parted_without_a_request_more_or_less,
    an_agent_alone_counts_what_an_engine_counts,
    agents_wait_for_controllers_and_serve_one_after_the_other,
    an_agent_that_is_cut_off_is_lost_by_name_and_the_others_stop,
    a_short_cut_loses_nothing,
    agents_without_a_controller_end_their_load,
    a_stop_ends_a_slice_everywhere_and_keeps_what_was_counted,
    an_agent_refuses_targets_and_rates_that_its_machine_does_not_allow,
    a_replay_is_not_asked_of_agents,
    another_build_is_not_wanted,
    a_slot_is_given_once,
    another_plan_than_was_meant_is_refused,
    what_no_controller_orders_is_refused_and_the_next_order_is_done,
    an_order_is_done_once_however_often_it_comes,
    agents_that_wait_come_all_at_once,
    the_others_go_on_with_their_own_parts_where_that_is_wanted,
    without_any_agent_there_is_no_load,
    a_stop_before_a_slice_begins_ends_it_at_once,
    a_busy_agent_says_so_to_another_controller,
    each_agents_own_pace_is_told,
    a_run_is_told_while_agents_make_it,
);
