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

/// Waits until a condition holds, for a minute at most.
pub(crate) fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < deadline, "waited a minute for {what}");
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
    three_agents_generate_exactly_the_load_of_one,
    a_rate_is_divided_without_losing_or_adding_requests,
    a_single_agent_counts_the_same_as_an_engine,
    agents_wait_for_controllers_and_serve_them_in_turn,
    a_disconnected_agent_is_named_and_the_others_stop,
    a_short_disconnection_loses_nothing,
    agents_without_a_controller_end_their_load,
    a_stop_ends_a_slice_on_every_agent_and_keeps_the_counts,
    an_agent_refuses_targets_and_rates_that_its_machine_does_not_allow,
    a_replay_is_refused_for_agents,
    an_agent_of_another_build_is_rejected,
    a_slot_is_assigned_once,
    a_plan_that_does_not_match_its_hash_is_refused,
    invalid_orders_are_refused_and_the_next_valid_one_is_executed,
    a_repeated_order_is_executed_once,
    waiting_agents_join_all_at_once,
    the_other_agents_continue_with_their_parts_if_configured,
    without_any_agent_there_is_no_load,
    a_stop_before_a_slice_begins_ends_it_at_once,
    a_busy_agent_reports_that_to_another_controller,
    the_pace_of_each_agent_is_reported,
    intervals_are_reported_while_agents_generate_load,
);
