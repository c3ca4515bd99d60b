//! Clients and servers that share no code with ours.
