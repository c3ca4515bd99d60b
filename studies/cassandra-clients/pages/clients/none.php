<?php
/* No database: the row is in a PHP file. */
declare(strict_types=1);

final class NoClient
{
    public function connect(): void
    {
    }

    public function get_row(string $family, string $key): array
    {
        return (require __DIR__ . '/../rows.php')[$key];
    }

    public function disconnect(): void
    {
    }
}

return new NoClient();
