"""Reads reports of ab or httperf in the ways in which scripts around these tools do, and fails
where one of them finds nothing, or other names than in the first report.

    wrappers.py ab|httperf REPORT...
"""

import re
import sys

N = r"([\d.]+)"

# Looked for anywhere in the report: whole numbers, decimals, and what stands around them.
AB = [
    r"\AThis is ApacheBench, Version 2\.3 <\$Revision",
    rf"Requests per second:\s+{N}",
    rf"Requests per second:\s*{N}\s*\[#/sec\]",
    r"Requests per second:\s+([0-9\.]+)\s\[#/sec\]\s\(mean\)",
    r"(?m)^Requests per second:\s*(\d*\.\d*)",
    rf"Time per request:\s+{N} \[ms\] \(mean\)",
    rf"Time per request:\s+{N}.*mean\)",
    rf"Time per request:\s+{N}\s+\[ms\]\s+\(mean\)[\s\S]*?Time per request:\s+{N}\s+\[ms\]\s+\(mean, across",
    rf"Time per request:\s+{N}\s\[ms\]\s\(mean, across all concurrent requests\)",
    rf"Transfer rate:\s+{N} \[Kbytes/sec\] received",
    r"(?m)^Complete requests:\s*(\d+)$",
    r"(?m)^Failed requests:\s+(\d+)$",
    r"Failed requests:\s+(\d+)\n(?:\s+\(Connect: (\d+), Receive: (\d+), Length: (\d+), Exceptions: (\d+)\))?",
    r"(?:Non-2xx responses:\s+(\d+))?",
    r"Keep-Alive requests:\s+(\d+)",
    rf"Time taken for tests:\s+{N} seconds",
    r"Total transferred:\s+(\d+) bytes",
    r"HTML transferred:\s+(\d+) bytes",
    r"Document Length:\s+(\d+) bytes",
    r"Document Path:\s+/\S*",
    r"Concurrency Level:\s+(\d+)\n",
    r"Server Software:\s+\S+",
    r"Server Hostname:\s+\S+",
    r"Server Port:\s+(\d+)",
    *[rf"(?m)^{row}:\s+(\d+)\s+(\d+)\s+{N}\s+(\d+)\s+(\d+)$" for row in ("Connect", "Processing", "Waiting", "Total")],
    r"Connection Times \(ms\)\n\s+min\s+mean\[\+/-sd\]\s+median\s+max\n",
    *[rf"(?m)^\s*{share}%\s+(\d+)" for share in (50, 66, 75, 80, 90, 95, 98, 99, 100)],
    r"100%\s+(\d+) \(longest request\)",
]
HTTPERF = [
    r"(?m)^Total: connections (\d+) requests (\d+) replies (\d+) test-duration (\d+\.\d+) s$",
    r"(?m)^Total: .*replies (\d+)",
    r"Maximum connect burst length: (\d+)\n\nTotal: ",
    r"(?m)^Connection rate: (\d+\.\d) conn/s \((\d+\.\d) ms/conn, <=(\d+) concurrent connections\)$",
    r"(?m)^Connection rate: (\d+\.\d)[^\d]+(\d+\.\d)[^\d]+(\d+)[^\d]",
    r"(\d+) concurrent connections",
    r"Connection time \[ms\]: min (\d+\.\d) avg (\d+\.\d) max (\d+\.\d) median (\d+\.\d) stddev (\d+\.\d)",
    r"(?m)^Connection time \[ms\]: min .+ avg ([0-9]*?\.?[0-9]+) ",
    r"(?m)^Connection time \[ms\]: connect ([0-9]*?\.?[0-9]+)$",
    r"(?m)^Connection length \[replies/conn\]: ([0-9]*?\.?[0-9]+)$",
    r"Request rate: (\d+\.\d) req/s \((\d+\.\d) ms/req\)",
    r"(?m)^Request size \[B\]: ([0-9]*?\.?[0-9]+)$",
    r"Reply rate \[replies/s\]: min (\S+) avg (\S+) max (\S+) stddev (\S+) \((\S+) samples\)",
    r"Reply rate.*stddev (\d+\.\d+)",
    r"(?m)^Reply time \[ms\]: response ([0-9]*?\.?[0-9]+) transfer ([0-9]*?\.?[0-9]+)$",
    r"Reply size \[B\]: header (\S+) content (\S+) footer (\S+) \(total (\S+)\)",
    r"(?m)^Reply status: 1xx=(\d+) 2xx=(\d+) 3xx=(\d+) 4xx=(\d+) 5xx=(\d+)$",
    r"CPU time \[s\]: user (\d+\.\d+) system (\d+\.\d+) \(user (\d+\.\d+)% system (\d+\.\d+)% total (\d+\.\d+)%\)",
    r"Net I/O: (\d+\.\d+) KB/s \((\d+\.\d+)\*10\^6 bps\)",
    r"(?m)^Errors: total (\d+) client-timo (\d+) socket-timo (\d+) connrefused (\d+) connreset (\d+)$",
    r"(?m)^Errors: fd-unavail (\d+) addrunavail (\d+) ftab-full (\d+) other (\d+)$",
    # All of it at once, over the ends of lines.
    r"(?s)Total: connections (\d+).+Connection rate: (\S+) conn/s.+Request rate: (\S+) req/s"
    r".+Reply rate .+? avg (\S+) max.+Reply status: .+ 5xx=(\d+).+Net I/O: (\S+) KB/s"
    r".+Errors: total (\d+) .+other (\d+)\n",
]
# Words of a line by their place, as awk and split give them: how the line begins, the place
# from 0, and the word that must stand there; None for a number.
FIELDS = {
    "ab": [
        ("Requests per second:", 3, None),
        ("Requests per second:", 4, "[#/sec]"),
        ("Time per request:", 3, None),
        ("Failed requests:", 2, None),
        ("Transfer rate:", 2, None),
        ("Time taken for tests:", 4, None),
        ("Total:", 4, None),
    ],
    "httperf": [
        ("Total:", 8, None),
        ("Connection rate:", 2, None),
        ("Request rate:", 2, None),
        ("Reply rate", 6, None),
        ("Reply time", 4, None),
        ("Net I/O:", 2, None),
        ("Errors: total", 2, None),
    ],
}


def names(report):
    """The names in front of colons, in order, without remarks on how the times are spread."""
    lines = (line for line in report.splitlines() if re.match(r"^(.+):\s+(.+)", line))
    return [line.split(":")[0] for line in lines if not line.startswith(("WARNING:", "ERROR:"))]


def faults(tool, report):
    """Yields what is not found."""
    for one in AB if tool == "ab" else HTTPERF:
        found = re.search(one, report)
        if not found:
            yield one
            continue
        for group in found.groups():
            try:
                float(group or 0)
            except ValueError:
                yield f"{one}: {group}"
    lines = report.splitlines()
    for begin, place, expected in FIELDS[tool]:
        words = next((line.split() for line in lines if line.startswith(begin)), [])
        word = words[place] if place < len(words) else ""
        if expected is None and not re.fullmatch(r"\d+(\.\d+)?", word) or expected not in (None, word):
            yield f"{begin} {place}: {word!r}"


def main():
    tool, *files = sys.argv[1:]
    reports = [open(file).read() for file in files]
    for file, report in zip(files, reports):
        missing = list(faults(tool, report))
        if missing:
            sys.exit(f"{file}: not found: {missing}")
        if names(report) != names(reports[0]):
            sys.exit(f"{file}: other names than in {files[0]}: {names(report)}")


main()
