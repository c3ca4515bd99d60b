<?php
// The response is always the same, because the study compares the ways to PHP.
header('Content-Type: text/plain');
echo str_repeat("A page that PHP makes.\n", 20);
