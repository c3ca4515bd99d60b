//! abx-server.
