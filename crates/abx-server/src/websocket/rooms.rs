//! Chat rooms: their members, and their latest messages.

use std::collections::HashMap;
use std::sync::Arc;

/// All rooms that have a member.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    /// The members of each room, as numbers of connections, unordered.
    members: HashMap<Arc<str>, Vec<usize>>,
    undelivered: Option<RoomMessage>,
    /// The buffer for the next frames, reused from the last ones.
    spare: Vec<u8>,
}

#[derive(Debug)]
pub(crate) struct RoomMessage {
    pub(crate) room: Arc<str>,
    /// Complete frames, the same for every member.
    pub(crate) frames: Vec<u8>,
}

impl Rooms {
    /// Adds a member, which gets all messages from now on.
    pub(crate) fn join(&mut self, room: &Arc<str>, number: usize) {
        self.members
            .entry(Arc::clone(room))
            .or_default()
            .push(number);
    }

    /// Removes a member, and with the last one the room.
    pub(crate) fn leave(&mut self, room: &Arc<str>, number: usize) {
        if let Some(members) = self.members.get_mut(room) {
            members.retain(|member| *member != number);
            if members.is_empty() {
                self.members.remove(room);
            }
        }
    }

    /// The number of members of a room.
    pub(crate) fn count(&self, room: &str) -> usize {
        self.members.get(room).map_or(0, Vec::len)
    }

    /// The buffer for a frame to deliver in this room.
    ///
    /// Earlier frames for another room must be delivered first.
    pub(crate) fn frames_for(&mut self, room: &Arc<str>) -> &mut Vec<u8> {
        let message = self.undelivered.get_or_insert_with(|| RoomMessage {
            room: Arc::clone(room),
            frames: std::mem::take(&mut self.spare),
        });
        debug_assert_eq!(&message.room, room);
        &mut message.frames
    }

    /// The number of bytes that wait to be delivered.
    pub(crate) fn undelivered_bytes(&self) -> usize {
        self.undelivered
            .as_ref()
            .map_or(0, |message| message.frames.len())
    }

    /// The undelivered frames, with the members that get them.
    ///
    /// Return both with [`Rooms::put_back`].
    pub(crate) fn take_undelivered(&mut self) -> Option<(RoomMessage, Vec<usize>)> {
        let message = self.undelivered.take()?;
        let members = self.members.get_mut(&message.room);
        let members = members.map(std::mem::take).unwrap_or_default();
        Some((message, members))
    }

    /// Returns a delivered message, and the members that stay in the room.
    pub(crate) fn put_back(&mut self, message: RoomMessage, members: Vec<usize>) {
        if members.is_empty() {
            self.members.remove(&message.room);
        } else {
            self.members.insert(message.room, members);
        }
        self.spare = message.frames;
        self.spare.clear();
        self.spare.shrink_to(SPARE_KEPT_BYTES);
    }
}

/// The largest buffer for frames that is kept between two deliveries, in bytes.
const SPARE_KEPT_BYTES: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_exists_as_long_as_it_has_members() {
        // Method: two rooms, joined and left; nothing remains.
        let mut rooms = Rooms::default();
        let (red, blue): (Arc<str>, Arc<str>) = ("red".into(), "blue".into());
        rooms.join(&red, 1);
        rooms.join(&red, 2);
        rooms.join(&blue, 3);
        rooms.leave(&blue, 1);
        assert_eq!(
            [
                rooms.count("red"),
                rooms.count("blue"),
                rooms.count("green")
            ],
            [2, 1, 0]
        );
        rooms.leave(&red, 1);
        rooms.leave(&red, 2);
        rooms.leave(&blue, 3);
        rooms.leave(&blue, 3);
        assert!(rooms.members.is_empty());
    }

    #[test]
    fn a_message_is_delivered_to_all_members_once() {
        // Method: two frames in one room of two; one member does not stay.
        let mut rooms = Rooms::default();
        let red: Arc<str> = "red".into();
        rooms.join(&red, 1);
        rooms.join(&red, 2);
        rooms.frames_for(&red).extend_from_slice(b"a");
        rooms.frames_for(&red).extend_from_slice(b"b");
        assert_eq!(rooms.undelivered_bytes(), 2);
        let (room_message, mut members) = rooms.take_undelivered().unwrap();
        assert_eq!(
            (room_message.frames.as_slice(), members.as_slice()),
            (&b"ab"[..], &[1, 2][..])
        );
        members.retain(|member| *member == 2);
        rooms.put_back(room_message, members);
        assert!(rooms.take_undelivered().is_none() && rooms.count("red") == 1);
        rooms.frames_for(&red).extend_from_slice(b"c");
        let (room_message, members) = rooms.take_undelivered().unwrap();
        assert_eq!(
            (room_message.frames.as_slice(), members.as_slice()),
            (&b"c"[..], &[2][..])
        );
        rooms.put_back(room_message, Vec::new());
        assert!(rooms.members.is_empty());
    }
}
