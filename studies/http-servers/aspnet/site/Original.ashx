<%@ WebHandler Language="C#" Class="Original" %>
using System.Web;

public class Original : IHttpHandler
{
    public bool IsReusable { get { return true; } }

    public void ProcessRequest(HttpContext context)
    {
        context.Response.ContentType = "text/plain";
        context.Response.Write("Hello World");
    }
}
