<?php
// The same answer every time: what is compared is the way to PHP.
header('Content-Type: text/plain');
echo str_repeat("A page that PHP makes.\n", 20);
