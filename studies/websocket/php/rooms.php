<?php
// The rooms of the chat and their members.
declare(strict_types=1);

final class Rooms
{
    /** Members by room and object id. */
    private array $rooms = [];

    public function enter(string $room, Talk $member): void
    {
        $this->rooms[$room][spl_object_id($member)] = $member;
    }

    public function leave(string $room, Talk $member): void
    {
        unset($this->rooms[$room][spl_object_id($member)]);
        if (($this->rooms[$room] ?? []) === []) {
            unset($this->rooms[$room]);
        }
    }

    public function count(string $room): int
    {
        return count($this->rooms[$room] ?? []);
    }

    /** Sends a frame to all members. A member that leaves meanwhile still gets this frame. */
    public function say(string $room, string $head, string $payload): void
    {
        foreach ($this->rooms[$room] as $member) {
            $member->tell($head, $payload);
        }
    }
}
