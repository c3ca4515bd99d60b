// One body for every path, with threads that share one event loop: `server PORT THREADS`.
#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

class Session : public std::enable_shared_from_this<Session>
{
public:
    explicit Session(tcp::socket socket) : stream(std::move(socket)) {}

    void read()
    {
        request = {};
        http::async_read(stream, buffer, request,
            [self = shared_from_this()](beast::error_code error, std::size_t) {
                if (error)
                    self->close();
                else
                    self->answer();
            });
    }

private:
    void answer()
    {
        response = {http::status::ok, request.version()};
        response.set(http::field::content_type, "text/plain");
        response.keep_alive(request.keep_alive());
        response.body() = "Hello World";
        response.prepare_payload();
        http::async_write(stream, response,
            [self = shared_from_this()](beast::error_code error, std::size_t) {
                if (error || self->response.need_eof())
                    self->close();
                else
                    self->read();
            });
    }

    void close()
    {
        beast::error_code ignored;
        stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
    }

    beast::tcp_stream stream;
    beast::flat_buffer buffer;
    http::request<http::string_body> request;
    http::response<http::string_body> response;
};

void accept(tcp::acceptor &acceptor)
{
    acceptor.async_accept(asio::make_strand(acceptor.get_executor()),
        [&acceptor](beast::error_code error, tcp::socket socket) {
            if (!error)
            {
                beast::error_code ignored;
                socket.set_option(tcp::no_delay(true), ignored);
                std::make_shared<Session>(std::move(socket))->read();
            }
            accept(acceptor);
        });
}

int main(int, char **words)
{
    auto port = static_cast<unsigned short>(std::atoi(words[1]));
    int count = std::atoi(words[2]);
    asio::io_context loop{count};
    tcp::acceptor acceptor{loop};
    acceptor.open(tcp::v4());
    acceptor.set_option(asio::socket_base::reuse_address(true));
    acceptor.bind({asio::ip::make_address("127.0.0.1"), port});
    acceptor.listen(4096);
    accept(acceptor);
    std::vector<std::thread> others;
    for (int at = 1; at < count; at += 1)
        others.emplace_back([&loop] { loop.run(); });
    loop.run();
}
