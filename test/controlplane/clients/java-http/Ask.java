// Asks by two HTTP clients of Java that offer an upgrade over plain HTTP: Apache HttpClient 5 (`TLS/1.2`) and the JDK's
// (`h2c`). Arguments: apache or jdk, a bearer token, then method, URL and body of each request; an empty body is none.
// Prints the status of each answer and how many characters its body has.
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.http.io.entity.StringEntity;
import org.apache.hc.core5.http.io.support.ClassicRequestBuilder;

public class Ask {
  interface Client {
    String ask(String method, String url, String body) throws Exception;
  }

  public static void main(String[] args) throws Exception {
    Client client = args[0].equals("apache") ? apache(args[1]) : jdk(args[1]);
    for (int i = 2; i + 2 < args.length; i += 3) System.out.println(client.ask(args[i], args[i + 1], args[i + 2]));
  }

  static String typeOf(String method) {
    return method.equals("PATCH") ? "application/merge-patch+json" : "application/json";
  }

  static Client apache(String token) {
    CloseableHttpClient client = HttpClients.createDefault();
    return (method, url, body) -> {
      ClassicRequestBuilder request =
          ClassicRequestBuilder.create(method).setUri(url).addHeader("Authorization", "Bearer " + token);
      // What many releases of it send by default.
      request.addHeader("Upgrade", "TLS/1.2").addHeader("Connection", "Upgrade");
      if (!body.isEmpty()) request.setEntity(new StringEntity(body, ContentType.parse(typeOf(method))));
      return client.execute(request.build(), response -> {
        String text = response.getEntity() == null ? "" : EntityUtils.toString(response.getEntity());
        return response.getCode() + " " + text.length();
      });
    };
  }

  static Client jdk(String token) {
    // A client of its own for each request: it offers `h2c` with the first one to a host.
    return (method, url, body) -> {
      HttpRequest.Builder request =
          HttpRequest.newBuilder(URI.create(url)).header("Authorization", "Bearer " + token);
      if (!body.isEmpty()) request.header("Content-Type", typeOf(method));
      request.method(method,
          body.isEmpty() ? HttpRequest.BodyPublishers.noBody() : HttpRequest.BodyPublishers.ofString(body));
      HttpResponse<String> response =
          java.net.http.HttpClient.newHttpClient().send(request.build(), HttpResponse.BodyHandlers.ofString());
      return response.statusCode() + " " + response.body().length();
    };
  }
}
