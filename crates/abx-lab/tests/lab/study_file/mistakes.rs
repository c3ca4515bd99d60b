//! Mistakes in a study file, one each.

/// A text of the good file, its replacement, and the message after the name of the file.
pub const MISTAKES: &[(&str, &str, &str)] = &[
    (
        "subject = \"two\"",
        "subject = \"tow\"",
        "51: contrast 1: `subject` is `tow`, and no subject has that name; did you mean `two`?",
    ),
    (
        "baseline = \"one\"",
        "baseline = \"small\"",
        "52: contrast 1: `baseline` is `small`, and no subject has that name; choose from `one`, `two`, `three`",
    ),
    (
        "baseline = \"one\"",
        "baseline = \"two\"",
        "50: contrast 1: `two` is compared with itself: name two subjects",
    ),
    (
        "\nloads = ",
        "\n\n[[contrast]]\nsubject = \"one\"\nbaseline = \"two\"\nloads = ",
        "54: contrast 2: the contrast in line 50 already compares `one` and `two`: keep one of the two, with all of its `loads`",
    ),
    (
        "baseline = \"one\"\n",
        "",
        "50: contrast 1: `baseline` is missing: add it, for example baseline = \"nginx\"",
    ),
    (
        "[\"small\", \"one\"]",
        "[\"smal\", \"one\"]",
        "53: contrast 1: `loads` is `smal`, and no load has that name; did you mean `small`?",
    ),
    (
        "[\"small\", \"one\"]",
        "[]",
        "53: contrast 1: `loads` is empty: fill it, for example loads = [\"small\"]",
    ),
    (
        "loads = [\"small",
        "load = [\"small",
        "53: contrast 1: unknown key `load`; did you mean `loads`?",
    ),
    (
        "seed = 7",
        "sead = 7",
        "6: unknown key `sead`; did you mean `seed`?",
    ),
    (
        "env =",
        "comand =",
        "17: subject \"one\": unknown key `comand`; did you mean `command`?",
    ),
    (
        "signal =",
        "sginal =",
        "19: subject \"one\": unknown key `sginal`; did you mean `signal`?",
    ),
    (
        "weight = 3",
        "wait = 3",
        "36: load \"small\": unknown key `wait`; choose from `bearer`, `body`, `cookie`, `count`, `file`, `form`, `headers`, `method`, `path`, `replay`, `replay_methods`, `speed`, `template`, `urls`, `user`, `weight`",
    ),
    (
        "bytes = 1_320",
        "bytes = 1_320\ncount = 2",
        "9: file \"small.bin\": `path` is `small.bin` for each of `count`: write `{n}` in it for the number",
    ),
    (
        "weight = 3",
        "count = 3",
        "36: load \"small\": `requests.path`: the request for `/small.bin` has a count but no `{n}`: write `{n}` in the path, a header or the body for the number",
    ),
    (
        "path = \"/small.bin\", weight",
        "weight",
        "36: load \"small\": `path` is missing: add it, for example path = \"/small.bin\", or name a list of paths in `urls`",
    ),
    (
        "weight = 3",
        "urls = \"list.txt\"",
        "36: load \"small\": a request has either `path` or `urls`: leave one of them out",
    ),
    (
        "path = \"/small.bin\", weight",
        "urls = \"none.txt\", weight",
        "36: load \"small\": the list `none.txt` cannot be read (no such file): put it next to the study file",
    ),
    (
        "path = \"/small.bin\", weight",
        "urls = \"order.json\", weight",
        "36: load \"small\": the list `order.json`: line 1: `{\"user\":{n}}` is neither a path, which begins with /, nor a URL: correct it, or begin the line with # to leave it out",
    ),
    (
        "weight = 3",
        "body = \"@none.json\"",
        "36: load \"small\": the body file `none.json` cannot be read (no such file): put it next to the file that names it, or write `@@` for a body that begins with @",
    ),
    (
        "weight = 3",
        "body = \"@../up.json\"",
        "36: load \"small\": `requests.body` is `../up.json`: write a file's path below the folder, without a leading `/` and without `..`",
    ),
    (
        "weight = 3",
        "body = \"{n}\"",
        "36: load \"small\": `requests.body`: `{n}` in the body stands for a number, but no count is given: add one (`--count 1000`, or `count = 1000` in a study file), or write {{n}} for the text itself",
    ),
    (
        "weight = 3",
        "file = \"all.jsonl\"",
        "36: load \"small\": a request file sets `path` itself: leave out `file` or `path`",
    ),
    (
        "path = \"/small.bin\", weight = 3",
        "file = \"none.jsonl\"",
        "36: load \"small\": the request file `none.jsonl` cannot be read (no such file): put it next to the study file",
    ),
    (
        "path = \"/small.bin\", weight = 3",
        "file = \"list.txt\"",
        "36: load \"small\": the file `list.txt`: line 1: expected value at column 1",
    ),
    (
        "path = \"/small.bin\", weight = 3 },\n",
        "replay = \"access.log\" },\n",
        "36: load \"small\": a replayed log excludes other requests: leave them out, or move them to another load",
    ),
    (
        "requests = [{ path = \"/\" }]",
        "rate = 5\nrequests = [{ replay = \"access.log\" }]",
        "48: load \"one\": a replayed log sets the requests and their times: leave `rate` out",
    ),
    (
        "{ path = \"/\" }",
        "{ replay = \"access.log\", path = \"/\" }",
        "48: load \"one\": a replayed log sets the requests and their times: leave `path` out",
    ),
    (
        "{ path = \"/\" }",
        "{ path = \"/\", speed = 2 }",
        "48: load \"one\": `speed` is for a replayed log, and there is none: add replay = \"access.log\"",
    ),
    (
        "{ path = \"/\" }",
        "{ replay = \"access.log\", speed = 0 }",
        "48: load \"one\": `speed`: `0` is not a speed: write a number from 0.01 to 1000000, such as 2 for twice as fast",
    ),
    (
        "{ path = \"/\" }",
        "{ replay = \"list.txt\" }",
        "48: load \"one\": the log `list.txt`: it has no line of an access log in the common or combined format (line 1: it has no time such as [10/Oct/2000:13:55:36 -0700])",
    ),
    (
        "{ path = \"/\" }",
        "{ replay = \"none.log\" }",
        "48: load \"one\": the log `none.log` cannot be read (no such file): put it next to the study file, as plain text",
    ),
    (
        "weight = 3",
        "user = \"name\"",
        "36: load \"small\": `requests.user`: a user is NAME:PASSWORD, with a colon between the two; to send a file by PUT (ab's -u), use -m PUT -b @FILE",
    ),
    (
        "weight = 3",
        "user = \"a:b\", bearer = \"c\"",
        "36: load \"small\": a request has either `user` or `bearer`: leave one of them out",
    ),
    (
        "weight = 3",
        "bearer = \"@none\"",
        "36: load \"small\": the token file `none` cannot be read (no such file): put it next to the study file",
    ),
    (
        "weight = 3",
        "cookie = \"a\"",
        "36: load \"small\": `requests.cookie`: a cookie is NAME=VALUE, and several are 'A=1; B=2'; abx does not read cookie files",
    ),
    (
        "weight = 3",
        "body = \"a\", form = [\"a=1\"]",
        "36: load \"small\": a request has either `body` or `form`: leave one of them out",
    ),
    (
        "weight = 3",
        "form = [\"a=@../up\"]",
        "36: load \"small\": `requests.form`: the file `../up` of the field `a` cannot be read: `form` is `../up`: write a file's path below the folder, without a leading `/` and without `..`: give a readable file",
    ),
    (
        "keep_alive = false",
        "cold_cache = true",
        "39: load \"small\": `cold_cache` applies to files that abx generates, and a subject at an `address` has none: start it by `command`",
    ),
    (
        "seed = 7",
        "stages = 7",
        "6: `stages` is reserved for later: leave it out",
    ),
    (
        "timeout =",
        "stages =",
        "40: load \"small\": `stages` is reserved for later: leave it out",
    ),
    (
        "\"request\"",
        "\"echo\"",
        "46: load \"one\": `protocol` is HTTP, and the shape `echo` uses WebSocket: write protocol = \"websocket\", or leave `protocol` out",
    ),
    (
        "http/1.1",
        "http/9",
        "46: load \"one\": `protocol` is `http/9`, which is unknown; did you mean `http/2`?",
    ),
    (
        "protocol = \"http/1.1\"",
        "protocol = \"http/2\"\npipeline = 4",
        "47: load \"one\": HTTP/2 has no pipelines: write `streams`",
    ),
    (
        "protocol = \"http/1.1\"",
        "streams = 4",
        "46: load \"one\": only HTTP/2 has `streams`: add protocol = \"http/2\", or write `pipeline`",
    ),
    (
        "8081/\"\n",
        "8081/\"\nhttp2 = true\n[[load]]\nname = \"old\"\nprotocol = \"http/1.0\"\nrequests = [{ path = \"/\" }]\n",
        "31: subject \"three\": `http2` is for loads of HTTP/1.1, and all subjects use http/1.0 under `old`: leave it out",
    ),
    (
        "\"QUIT\"",
        "\"QIUT\"",
        "19: subject \"one\": `stop.signal` is `QIUT`, which is unknown; did you mean `QUIT`?",
    ),
    (
        "\"abx.study_file/1\"",
        "\"x\"",
        "1: `schema` is `x`, which is unknown; choose from `abx.study_file/1`",
    ),
    (
        "\"90s\"",
        "90",
        "4: `budget` is a whole number, but must be text in quotes, for example budget = \"30s\"",
    ),
    (
        "\"90s\"",
        "\"90s\"\nslice = \"short\"",
        "5: `slice` is `short`, which is not a time above zero: write a number and its unit, such as 30s, 100ms or 2m",
    ),
    (
        "[\"./two\", \"{port}\"]",
        "\"./two\"",
        "23: subject \"two\": `command` is text, but must be a list, for example command = [\"nginx\", \"-c\", \"{dir}/n.conf\"]",
    ),
    (
        "\"./two\"",
        "2",
        "23: subject \"two\": `command` is a whole number, but must be text in quotes",
    ),
    (
        "connections = 1\n",
        "connections = true\n",
        "47: load \"one\": `connections` is true or false, but must be a whole number or a list, for example connections = [10, 100]",
    ),
    (
        "connections = 1\n",
        "connections = 0\n",
        "47: load \"one\": `connections` is 0: write a number from 1 to 1000000",
    ),
    (
        "[10, 100]",
        "[10, 10]",
        "34: load \"small\": `connections` lists 10 twice: each number gives one row, so list it once",
    ),
    (
        "connections = 1\n",
        "rate = \"fast\"\n",
        "47: load \"one\": `rate`: `fast` is not a percentage of the slowest subject's throughput: write a number and %, such as \"50%\", at most 200%; rates per second are written without quotes",
    ),
    (
        "connections = 1\n",
        "rate = [\"25%\", 2000, \"25%\"]\n",
        "47: load \"one\": `rate` lists r25pct twice: each rate gives one row, so list it once",
    ),
    (
        "connections = 1\n",
        "rate = \"25%\"\narrivals = \"closed\"\n",
        "47: load \"one\": `rate` is for open loops, and `arrivals` is closed: leave out one of the two",
    ),
    (
        "connections = 1\n",
        "slo = \"p98<5ms\"\n",
        "47: load \"one\": `slo`: `p98<5ms` is not a goal: write a quantile and a time (`p50`, `p90`, `p95`, `p99` or `p99.9`, `<`, a number and us, ms or s) or `errors<` and a percentage",
    ),
    (
        "connections = 1\n",
        "slo = \"p99<5ms\"\nrate = \"auto\"\n",
        "47: load \"one\": `slo` finds its own rates: leave `rate` out, or write a second [[load]]",
    ),
    (
        "requests = [{ path = \"/\" }]",
        "",
        "43: load \"one\": `requests` is missing: add the requests, such as requests = [{ path = \"/\" }], or a `scenario`",
    ),
    (
        "[{ path = \"/\" }]",
        "[]",
        "48: load \"one\": `requests` is empty: fill it, for example requests = [{ path = \"/small.bin\" }]",
    ),
    (
        "\"1m\"",
        "\"1 parsec\"",
        "18: subject \"one\": `ready.within` is `1 parsec`, which is not a time above zero: write a number and its unit, such as 30s, 100ms or 2m",
    ),
    (
        "\"2.5%\"",
        "\"2.5\"",
        "3: `margin` is `2.5`, which is not a percentage above 0% and up to 100%: write a number and %, such as 3%",
    ),
    (
        "\"two\"\nmargin",
        "\"tow\"\nmargin",
        "2: `baseline` is `tow`, and no subject has that name; did you mean `two`?",
    ),
    (
        "name = \"two\"",
        "name = \"one\"",
        "22: subject \"one\": the name `one` is taken by the subject in line 12: give each its own",
    ),
    (
        "name = \"one\"\nshape",
        "name = \"small\"\nshape",
        "44: load \"small\": the name `small` is taken by the load in line 32: give each its own",
    ),
    (
        "\"n.conf\" =",
        "\"small.bin\" =",
        "15: subject \"one\": the name `small.bin` is taken by the file in line 8: give each its own",
    ),
    (
        "\"small.bin\"",
        "\"../small.bin\"",
        "9: file \"../small.bin\": `path` is `../small.bin`: write a file's path below the folder, without a leading `/` and without `..`",
    ),
    (
        "{dir}/n.conf",
        "{dri}/n.conf",
        "16: subject \"one\": unknown placeholder {dri}; did you mean `dir`? (write {{dri}} for the text {dri} itself)",
    ),
    (
        "\"make\", \"two\"",
        "\"make\", \"{dir}\"",
        "25: subject \"two\": unknown placeholder {dir}; choose from `study`, `build` (write {{dir}} for the text {dir} itself)",
    ),
    (
        "\"{port}\"]",
        "\"80\"]",
        "23: subject \"two\": no {port} in the command, environment or templates: abx chooses the port, so write {port} where the server takes it (or env = { PORT = \"{port}\" })",
    ),
    (
        "http://127",
        "ftp://127",
        "30: subject \"three\": `address` is `ftp://127.0.0.1:8081/`: write http://HOST[:PORT], or https://, ws://, wss://",
    ),
    (
        "address =",
        "#",
        "28: subject \"three\": neither `command` nor `address`: write how abx starts it, such as command = [\"./server\", \"{port}\"], or where it runs",
    ),
    (
        "address =",
        "from = { image = \"nginx\" }\naddress =",
        "30: subject \"three\": `from.image` is only for a subject that abx starts: leave it out, or write `command` instead of `address`",
    ),
    (
        "address =",
        "from = { image = \"-v\" }\n#",
        "30: subject \"three\": `from.image` is `-v`: write the name of an image, such as \"nginx:1.27\"",
    ),
    (
        "address =",
        "from = { image = \"nginx\", npm = [\"ws\"] }\n#",
        "30: subject \"three\": `from.npm` is not for a container, whose image has all that it needs: leave out `from.npm` or `from.image`",
    ),
    (
        "name = \"three\"",
        "name = \"three\"\nstop = {}",
        "30: subject \"three\": `stop` is only for a subject that abx starts: leave it out, or write `command` instead of `address`",
    ),
    (
        "path = \"/\"",
        "path = \"x\"",
        "48: load \"one\": `requests.path` is `x`: begin with `/`, write all but visible ASCII as %XX, and leave out `#`",
    ),
    (
        "body = \"any\"",
        "body = \"some\"",
        "41: load \"small\": `expect.body` is `some`: write `same`, `any`, or a SHA-256 of 64 hexadecimal digits (as `sha256sum` prints it)",
    ),
    (
        "seed = 7",
        "seed = 7\nseed = 8",
        "7: this is not TOML (duplicate key): strings need quotes, and each key may appear only once in its table",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "shape = \"echo\"\nkeep_alive = false",
        "46: load \"one\": `keep_alive` has no effect on a load of shape `echo`: leave it out",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "shape = \"connections\"\nmessage = { bytes = 5 }",
        "46: load \"one\": `message` has no effect on a load of shape `connections`: leave it out",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "shape = \"broadcast\"\nverify_every = 2",
        "46: load \"one\": `verify_every` has no effect on a load of shape `broadcast`: leave it out",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "message = { bytes = 5 }",
        "45: load \"one\": `message` has no effect on a load of shape `request`: leave it out",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "protocol = \"websocket\"",
        "45: load \"one\": `protocol` is `websocket`, but the load sends HTTP requests: write shape = \"echo\", \"broadcast\" or \"connections\"",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "shape = \"echo\"\nmessage = { bytes = [1, 1] }",
        "46: load \"one\": `message.bytes` lists 1 twice: each length gives one row, so list it once",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "shape = \"echo\"\nmessage = { kind = \"txt\" }",
        "46: load \"one\": `message.kind` is `txt`, which is unknown; did you mean `text`?",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"\nconnections = 1\nrequests = [{ path = \"/\" }]",
        "shape = \"echo\"\nrequests = [{ path = \"/\" }, { path = \"/a\" }]",
        "46: load \"one\": `requests` has several, but a WebSocket is opened by one: keep one",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"\nconnections = 1\nrequests = [{ path = \"/\" }]",
        "shape = \"echo\"\nrequests = [{ path = \"/\", body = \"x\" }]",
        "46: load \"one\": `requests.body` has no effect on a load of shape `echo`: leave it out",
    ),
    (
        "path = \"/\"",
        "path = \"/{rand:2..1}\"",
        "48: load \"one\": `{rand:2..1}` is not a range: write two numbers from 0 to 10^18, the smaller one first, such as {rand:1..1000}, or {{rand:2..1}} for the text itself",
    ),
    (
        "path = \"/\"",
        "path = \"/{line:none}\"",
        "48: load \"one\": `{line:none}`: cannot read none: no such file: give a text file with one value per line",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"\nconnections = 1\nrequests = [{ path = \"/\" }]",
        "shape = \"echo\"\nrequests = [{ path = \"/{seq}\" }]",
        "46: load \"one\": placeholders such as {seq} work in HTTP requests, not in the request that opens a WebSocket: leave them out, or double their braces for the text itself",
    ),
    (
        "shape = \"request\"\nprotocol = \"http/1.1\"",
        "shape = \"broadcast\"\nmessage = { bytes = 15 }",
        "46: load \"one\": `message.bytes` is 15: a broadcast carries its number, so write at least 16",
    ),
];
