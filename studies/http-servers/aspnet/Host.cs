// Runs ASP.NET's pipeline on HttpListener, without a web server in front: `mono host.exe SITE PORT`.
// SITE/bin holds a copy of this program.
using System;
using System.IO;
using System.Net;
using System.Threading;
using System.Web;
using System.Web.Hosting;

public class Host : MarshalByRefObject
{
    // Lives as long as the process.
    public override object InitializeLifetimeService() { return null; }

    public void Serve(string port)
    {
        var listener = new HttpListener();
        listener.Prefixes.Add("http://127.0.0.1:" + port + "/");
        listener.Start();
        while (true)
        {
            var context = listener.GetContext();
            ThreadPool.QueueUserWorkItem(_ => HttpRuntime.ProcessRequest(new Request(context)));
        }
    }

    public static void Main(string[] words)
    {
        var host = (Host)ApplicationHost.CreateApplicationHost(typeof(Host), "/", words[0]);
        host.Serve(words[1]);
    }
}

// Adapts a request of the listener to ASP.NET.
class Request : SimpleWorkerRequest
{
    readonly HttpListenerContext context;
    readonly MemoryStream body = new MemoryStream();

    public Request(HttpListenerContext context)
        : base(context.Request.Url.AbsolutePath.TrimStart('/'),
               context.Request.Url.Query.TrimStart('?'), TextWriter.Null)
    {
        this.context = context;
    }

    public override string GetUriPath() { return context.Request.Url.AbsolutePath; }

    public override string GetHttpVerbName() { return context.Request.HttpMethod; }

    public override void SendStatus(int status, string reason)
    {
        context.Response.StatusCode = status;
    }

    public override void SendKnownResponseHeader(int index, string value)
    {
        // The listener writes all other headers itself.
        if (GetKnownResponseHeaderName(index) == "Content-Type")
            context.Response.ContentType = value;
    }

    public override void SendUnknownResponseHeader(string name, string value)
    {
        context.Response.AddHeader(name, value);
    }

    public override void SendResponseFromMemory(byte[] data, int length)
    {
        body.Write(data, 0, length);
    }

    public override void FlushResponse(bool isLast) { }

    public override void EndOfRequest()
    {
        try
        {
            context.Response.ContentLength64 = body.Length;
            body.WriteTo(context.Response.OutputStream);
            context.Response.Close();
        }
        catch (Exception)
        {
            // The client is gone.
        }
    }
}
