package ui

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// download sends a file of any content as an attachment; the browser never renders it.
func (s *Server) download(w http.ResponseWriter, r *http.Request) error {
	f, err := fileOf(r)
	if err != nil {
		return err
	}
	k, err := s.look(r.Context(), f)
	if err != nil {
		return err
	}
	blob, err := s.stores.Files.Open(r.Context(), k.sha256)
	if err != nil {
		return refuse(http.StatusGone, "The contents of this file are not in the blob store: "+err.Error()+".")
	}
	defer blob.Close()
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", disposition([]byte(k.name)))
	if k.size >= 0 {
		h.Set("Content-Length", strconv.FormatInt(k.size, 10))
	}
	h.Set("Accept-Ranges", "none")
	if r.Method == http.MethodHead {
		return nil
	}
	if err := send(http.NewResponseController(w), w, blob); err != nil {
		s.log.Warn("a download was broken off", "run", f.run.String(), "part", f.part, "path", outputs.Escape([]byte(f.path)), "error", err)
		panic(http.ErrAbortHandler) // so the browser knows that it is incomplete
	}
	return nil
}

// send copies and holds back the last part until the end was read and the digest verified. On a mismatch the client receives
// fewer bytes than announced.
func send(control *http.ResponseController, to io.Writer, from io.Reader) error {
	var kept, next []byte = nil, make([]byte, 128<<10)
	spare := make([]byte, len(next))
	if err := control.SetReadDeadline(time.Time{}); err != nil { // a long download exceeds the request's deadline
		return err
	}
	for {
		n, err := io.ReadFull(from, next)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if deadline := control.SetWriteDeadline(time.Now().Add(writeTimeout)); deadline != nil {
			return deadline
		}
		if _, failed := to.Write(kept); failed != nil {
			return failed
		}
		if err != nil { // the end
			_, err = to.Write(next[:n])
			return err
		}
		kept, next, spare = next[:n], spare, next
	}
}

// disposition makes a browser save the response under the last part of a path (RFC 6266; RFC 8187 for non-ASCII).
func disposition(path []byte) string {
	name := fileName(path)
	plain := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || strings.ContainsRune("\"\\%", r) { // some clients unescape percent signs (RFC 6266, appendix D)
			return '_'
		}
		return r
	}, name)
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, plain, extended(name))
}

// fileName is the name under which a file is saved. No character in it is hidden, reorders it, or has a meaning to a file
// system.
func fileName(path []byte) string {
	base := string(path[strings.LastIndexByte(string(path), '/')+1:])
	if !utf8.ValidString(base) {
		base = outputs.Escape([]byte(base))
	}
	name := strings.Map(func(r rune) rune {
		if !format.Visible(r) || unicode.IsSpace(r) && r != ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, base)
	name = strings.Trim(name, " ")
	if strings.HasPrefix(name, ".") { // hidden, or a directory
		name = "_" + name[1:]
	}
	for len(name) > 200 { // file systems allow 255 bytes
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	if name == "" {
		return "output"
	}
	return name
}

// extended encodes a text as value-chars of RFC 8187: all but attr-char is escaped.
func extended(text string) string {
	const attr = "!#$&+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	var b strings.Builder
	for i := range len(text) {
		if strings.IndexByte(attr, text[i]) >= 0 {
			b.WriteByte(text[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", text[i])
		}
	}
	return b.String()
}
