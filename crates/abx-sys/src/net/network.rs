//! The kernel's counters of losses in TCP and on the way that packets take
//! within the machine. They belong to the whole network namespace, not to one
//! server. Start at [`NetworkCounters`].

use std::io;

use crate::counters_table::counters;
use crate::kernel_files::{KeptFile, read_lossy};

counters! {
    /// Counters since boot; `None` if this kernel does not have them.
    pub struct NetworkCounters {
        /// A connection was complete, but the server's accept queue was full.
        listen_overflows,
        /// Connection attempts dropped by a listener, full queues included.
        listen_drops,
        /// Connection attempts dropped because too many were half open.
        half_open_drops,
        /// Packets dropped because their socket's backlog was full.
        backlog_drops,
        /// Packets dropped because their socket's receive buffer was full.
        receive_queue_drops,
        /// Retransmission timers that expired.
        timeouts,
        /// First packets of a connection that were sent again: each cost a second or more.
        syn_retransmits,
        /// Packets sent again for any reason, probes for lost ends included.
        retransmits,
        /// Probes for lost ends: the last packet sent again some milliseconds after it, because
        /// nothing was acknowledged yet. On loopback, a busy receiver causes them.
        loss_probes,
        /// Probes that found something lost.
        loss_probe_recoveries,
        /// Packets dropped because a CPU's receive queue was full.
        packets_dropped,
        /// How often a CPU had packets left at the end of its turn to receive.
        squeezes,
    }
}

impl NetworkCounters {
    /// Parses the texts of /proc/net/netstat, snmp and softnet_stat.
    #[must_use]
    pub fn parse(netstat: &str, snmp: &str, softnet: &str) -> NetworkCounters {
        let mut network_counters = NetworkCounters::default();
        each_number(netstat, "TcpExt:", |name, number| {
            let place = match name {
                "ListenOverflows" => &mut network_counters.listen_overflows,
                "ListenDrops" => &mut network_counters.listen_drops,
                "TCPReqQFullDrop" => &mut network_counters.half_open_drops,
                "TCPBacklogDrop" => &mut network_counters.backlog_drops,
                "TCPRcvQDrop" => &mut network_counters.receive_queue_drops,
                "TCPTimeouts" => &mut network_counters.timeouts,
                "TCPSynRetrans" => &mut network_counters.syn_retransmits,
                "TCPLossProbes" => &mut network_counters.loss_probes,
                "TCPLossProbeRecovery" => &mut network_counters.loss_probe_recoveries,
                _ => return,
            };
            *place = number.parse().ok();
        });
        each_number(snmp, "Tcp:", |name, number| {
            if name == "RetransSegs" {
                network_counters.retransmits = number.parse().ok();
            }
        });
        let softnet = Softnet::parse(softnet);
        network_counters.packets_dropped = softnet.map(|softnet| softnet.dropped);
        network_counters.squeezes = softnet.map(|softnet| softnet.squeezed);
        network_counters
    }

    /// These counters, with only the retransmits of packets that were lost or considered lost:
    /// without probes that found no loss.
    #[must_use]
    pub fn without_vain_probes(self) -> NetworkCounters {
        let recoveries = self.loss_probe_recoveries.unwrap_or(0);
        let in_vain = self.loss_probes.unwrap_or(0).saturating_sub(recoveries);
        let of_losses = |packets: u64| packets.saturating_sub(in_vain);
        NetworkCounters {
            retransmits: self.retransmits.map(of_losses),
            ..self
        }
    }
}

/// The files behind [`NetworkCounters`], open.
#[derive(Debug)]
pub(crate) struct NetworkFiles {
    netstat: KeptFile,
    snmp: KeptFile,
    softnet: KeptFile,
}

impl NetworkFiles {
    pub(crate) fn open() -> NetworkFiles {
        NetworkFiles {
            netstat: KeptFile::open("/proc/net/netstat"),
            snmp: KeptFile::open("/proc/net/snmp"),
            softnet: KeptFile::open("/proc/net/softnet_stat"),
        }
    }

    pub(crate) fn read(&mut self) -> NetworkCounters {
        let netstat = self.netstat.read().unwrap_or_default();
        let snmp = self.snmp.read().unwrap_or_default();
        let softnet = self.softnet.read().unwrap_or_default();
        NetworkCounters::parse(&netstat, &snmp, &softnet)
    }
}

/// Connections in TIME_WAIT: each still holds its local port for its peer.
///
/// # Errors
/// The kernel's error; `InvalidData` for a text without the number.
pub fn time_wait() -> io::Result<u64> {
    let path = "/proc/net/sockstat";
    parse_time_wait(&read_lossy(path)?).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{path} has no line `TCP:` with `tw`: is /proc that of a Linux kernel?"),
        )
    })
}

fn parse_time_wait(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}

/// Shows each name of a line with the number below it; both lines begin with the
/// same word.
fn each_number(text: &str, word: &str, mut show: impl FnMut(&str, &str)) {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(word));
    let names = lines.next().unwrap_or_default().split_ascii_whitespace();
    let numbers = lines.next().unwrap_or_default().split_ascii_whitespace();
    for (name, number) in names.zip(numbers) {
        show(name, number);
    }
}

/// What the CPUs' queues of received packets count, summed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Softnet {
    dropped: u64,
    squeezed: u64,
}

impl Softnet {
    /// A line for each CPU, hexadecimal: packets, dropped, squeezed, and more.
    fn parse(text: &str) -> Option<Softnet> {
        let mut sum = None;
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace().skip(1);
            let mut next = || u64::from_str_radix(words.next()?, 16).ok();
            let (dropped, squeezed) = (next()?, next()?);
            let softnet: &mut Softnet = sum.get_or_insert_default();
            softnet.dropped = softnet.dropped.saturating_add(dropped);
            softnet.squeezed = softnet.squeezed.saturating_add(squeezed);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows ListenDrops TCPTimeouts\n\
        TcpExt: 1 2 3 4\nIpExt: ListenDrops\nIpExt: 99\n";
    const SNMP: &str =
        "Tcp: RtoAlgorithm MaxConn RetransSegs\nTcp: 1 -1 7\nUdp: RetransSegs\nUdp: 9\n";
    const SOFTNET: &str =
        "001e6985 00000001 00000010 00000000\n001e8427 00000002 00000020 00000000\n";
    const SOCKSTAT: &str =
        "sockets: used 229\nTCP: inuse 203 orphan 0 tw 573 alloc 203 mem 1\nUDP: inuse 0 mem 0\n";

    #[test]
    fn a_counter_that_the_kernel_lacks_is_none_and_not_zero() {
        // Method: texts of an old kernel, and the same texts some events later.
        let counters = NetworkCounters::parse(NETSTAT, SNMP, SOFTNET);
        assert_eq!(counters.listen_overflows, Some(2));
        assert_eq!(counters.listen_drops, Some(3));
        assert_eq!(counters.retransmits, Some(7));
        assert_eq!(counters.packets_dropped, Some(3));
        assert_eq!(counters.squeezes, Some(0x30));
        assert_eq!(counters.syn_retransmits, None);
        let netstat = NETSTAT.replace("1 2 3 4", "1 2 6 4");
        let added = NetworkCounters::parse(&netstat, SNMP, "").since(counters);
        assert_eq!(added.listen_drops, Some(3));
        assert_eq!(added.timeouts, Some(0));
        assert_eq!(added.half_open_drops, None);
        assert_eq!(added.packets_dropped, None);
    }

    #[test]
    fn probes_that_find_no_loss_are_not_losses() {
        // Method: kernels with and without the counters, and more probes than packets sent
        // again, since a probe may be a packet that is new.
        let table = [
            ((Some(7), None, None), Some(7)),
            ((Some(7), Some(5), None), Some(2)),
            ((Some(7), Some(5), Some(1)), Some(3)),
            ((Some(7), Some(9), Some(1)), Some(0)),
            ((None, Some(9), Some(1)), None),
        ];
        for ((retransmits, loss_probes, loss_probe_recoveries), expected) in table {
            let counters = NetworkCounters {
                retransmits,
                loss_probes,
                loss_probe_recoveries,
                ..NetworkCounters::default()
            };
            let count = counters.without_vain_probes().retransmits;
            assert_eq!(count, expected, "{counters:?}");
        }
        let names = "TcpExt: TCPLossProbes TCPLossProbeRecovery\nTcpExt: 5 1\n";
        let counters = NetworkCounters::parse(names, SNMP, "");
        assert_eq!(counters.without_vain_probes().retransmits, Some(3));
    }

    #[test]
    fn connections_in_time_wait_are_found_by_their_name() {
        // Method: the kernel's text, and one whose TCP line lacks the number.
        assert_eq!(parse_time_wait(SOCKSTAT), Some(573));
        assert_eq!(parse_time_wait("TCP: inuse 203 tw"), None);
        assert_eq!(parse_time_wait("UDP: tw 5"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in any::<String>(), cut in 0..NETSTAT.len()) {
            // Method: any text, real texts cut anywhere, and odd text behind known names.
            let _ = NetworkCounters::parse(&text, &text, &text);
            let _ = NetworkCounters::parse(&NETSTAT[..cut], "", "");
            let odd = format!("TcpExt: {text}\nTcpExt: {text}");
            let _ = NetworkCounters::parse(&odd, &odd.replace("TcpExt", "Tcp"), &odd);
            let _ = parse_time_wait(&format!("TCP: tw {text}"));
        }
    }

    #[test]
    fn this_machine_is_understood() {
        // Method: read the real files; values are the machine's, so only their presence is claimed.
        let counters = NetworkFiles::open().read();
        assert!(counters.listen_drops.is_some());
        assert!(counters.retransmits.is_some());
        assert!(counters.packets_dropped.is_some());
        time_wait().unwrap();
    }
}
