<?php
// Who is in which room of the chat.
declare(strict_types=1);

final class Rooms
{
    /** Members by room, each by its number as an object. */
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

    /** Sends a frame to all members; who leaves meanwhile does so from the next one on. */
    public function say(string $room, string $head, string $payload): void
    {
        foreach ($this->rooms[$room] as $member) {
            $member->tell($head, $payload);
        }
    }
}
