//! What a load is, declared once: study files, flags, plans and records contain these types and
//! repeat none of their keys. Plain data and its names, without I/O.

mod counted;
mod descriptors;
mod exchange;
mod hex;
mod hidden;
pub mod load_keys;
mod load_options;
mod time_text;
mod whole_number;

pub use counted::counted;
pub use descriptors::{OWN_DESCRIPTORS, descriptors_needed};
pub use exchange::{Exchange, LoadShape, Message, MessageKind, Shape};
pub use hex::hex;
pub use hidden::HIDDEN;
pub use load_options::LoadOptions;
pub use time_text::{TimeText, duration, lacks_unit, seconds, time};
pub use whole_number::whole_number;
