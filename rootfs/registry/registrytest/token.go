package registrytest

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const (
	tokenService = "registry-of-the-test"
	tokenIssuer  = "issuer-of-the-test"
)

// TokenServer issues tokens, signed by the authority, for the password (distribution's "Token Authentication
// Specification"). It returns the URL of the realm.
func TokenServer(t testing.TB, authority *Authority) (realm string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != User || password != Password {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"token": authority.token(r.URL.Query()["scope"]), "expires_in": 300})
	}))
	server.TLS = authority.config(t)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL + "/token"
}

// token signs what was requested (JSON Web Token, RFC 7519, with ES256 and the signer's certificate).
func (a *Authority) token(scopes []string) string {
	var access []map[string]any
	for _, scope := range scopes {
		if part := strings.Split(scope, ":"); len(part) == 3 {
			access = append(access, map[string]any{"type": part[0], "name": part[1], "actions": strings.Split(part[2], ",")})
		}
	}
	now := time.Now()
	text := encode(map[string]any{"typ": "JWT", "alg": "ES256", "x5c": [][]byte{a.cert.Raw}}) + "." + encode(map[string]any{
		"iss": tokenIssuer, "aud": tokenService, "sub": User, "jti": "x", "access": access,
		"nbf": now.Add(-time.Minute).Unix(), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, a.key, sum[:])
	if err != nil {
		return ""
	}
	signature := append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func encode(v any) string {
	data, _ := json.Marshal(v)
	return base64.RawURLEncoding.EncodeToString(data)
}
