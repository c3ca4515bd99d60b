#include "http.h"

namespace {

constexpr qsizetype longestHead = 16384;

const char *reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    default: return "Internal Server Error";
    }
}

} // namespace

Arrival takeRequest(QByteArray &arrived, Request &request)
{
    const qsizetype end = arrived.indexOf("\r\n\r\n");
    if (end < 0) {
        return arrived.size() > longestHead ? Arrival::Wrong : Arrival::Part;
    }
    const QList<QByteArray> lines = arrived.left(end).replace("\r\n", "\n").split('\n');
    const QList<QByteArray> words = lines[0].split(' ');
    if (words.size() != 3 || !words[2].startsWith("HTTP/1.")) {
        return Arrival::Wrong;
    }
    request.method = words[0];
    request.path = words[1].split('?')[0];
    request.keepsConnection = words[2] != "HTTP/1.0";
    qsizetype bodyLength = 0;
    for (const QByteArray &line : lines.sliced(1)) {
        const qsizetype colon = line.indexOf(':');
        const QByteArray name = line.left(colon).toLower();
        const QByteArray value = line.mid(colon + 1).trimmed();
        if (name == "connection") {
            request.keepsConnection = request.keepsConnection
                ? value.compare("close", Qt::CaseInsensitive) != 0
                : value.compare("keep-alive", Qt::CaseInsensitive) == 0;
        } else if (name == "content-length") {
            bool isNumber = false;
            bodyLength = value.toUInt(&isNumber);
            if (!isNumber) {
                return Arrival::Wrong;
            }
        } else if (name == "transfer-encoding") {
            return Arrival::Wrong;
        }
    }
    const qsizetype length = end + 4 + bodyLength;
    if (arrived.size() < length) {
        return Arrival::Part;
    }
    arrived.remove(0, length);
    return Arrival::Whole;
}

QByteArray toBytes(const Answer &answer, const Request &request)
{
    QByteArray bytes;
    bytes.reserve(256 + answer.body.size());
    bytes += "HTTP/1.1 " + QByteArray::number(answer.status) + ' ' + reason(answer.status);
    bytes += "\r\nContent-Type: " + answer.type;
    bytes += "\r\nContent-Length: " + QByteArray::number(answer.body.size());
    bytes += "\r\nConnection: ";
    bytes += request.keepsConnection ? "keep-alive\r\n\r\n" : "close\r\n\r\n";
    if (request.method != "HEAD") {
        bytes += answer.body;
    }
    return bytes;
}
