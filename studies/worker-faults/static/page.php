<!DOCTYPE html>
<title>A page</title>
<p>One worker ends, and another one answers.</p>
