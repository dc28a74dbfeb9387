"""Makes a container on an Azure server: azure_container.py ENDPOINT ACCOUNT KEY CONTAINER. One that is there is as good."""

import base64
import email.utils
import hashlib
import hmac
import sys
import urllib.error
import urllib.request


def main(endpoint, account, key, container):
    date = email.utils.formatdate(usegmt=True)
    headers = {"x-ms-date": date, "x-ms-version": "2021-08-06"}
    canonical = "".join("%s:%s\n" % pair for pair in sorted(headers.items()))
    # the account is part of the path here, and stands before it once more
    resource = "/%s/%s/%s\nrestype:container" % (account, account, container)
    text = "PUT" + "\n" * 12 + canonical + resource
    signature = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = "SharedKey %s:%s" % (account, base64.b64encode(signature).decode())
    headers["Content-Length"] = "0"
    request = urllib.request.Request("%s/%s?restype=container" % (endpoint, container), method="PUT", headers=headers)
    try:
        urllib.request.urlopen(request, timeout=10)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            sys.exit("%s: %s" % (error, error.read().decode(errors="replace")[:300]))


if __name__ == "__main__":
    main(*sys.argv[1:])
