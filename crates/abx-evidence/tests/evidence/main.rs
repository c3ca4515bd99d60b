//! Records as they are saved: their columns and their schema.

mod columns;
mod schema;
