//! Declares counters of the kernel once: their struct, their differences and their names.

/// Declares a struct of counters, each `None` if it cannot be read.
macro_rules! counters {
    (
        $(#[$about:meta])*
        $visibility:vis struct $name:ident { $($(#[$meaning:meta])* $counter:ident,)+ }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        $visibility struct $name {
            $($(#[$meaning])* pub $counter: Option<u64>,)+
        }

        impl $name {
            /// What was added since `earlier`.
            #[must_use]
            pub fn since(self, earlier: $name) -> $name {
                let added = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
                $name { $($counter: added(self.$counter, earlier.$counter),)+ }
            }

            /// The counter of this name.
            pub(crate) fn named(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($counter) => self.$counter,)+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use counters;
