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
)

// download sends a file, which is anything: as bytes to be kept, never as something to show.
func (s *Server) download(w http.ResponseWriter, r *http.Request) error {
	f, err := fileOf(r)
	if err != nil {
		return err
	}
	k, err := s.look(r.Context(), f)
	if err != nil {
		return err
	}
	blob, err := s.house.Files.Open(r.Context(), k.sha256)
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
		panic(http.ErrAbortHandler) // so that the browser knows that it has not all
	}
	return nil
}

// send copies, and keeps the last part back until the end was read: then the contents are known to be the promised ones, and
// else the client does not get as many bytes as it was told.
func send(control *http.ResponseController, to io.Writer, from io.Reader) error {
	var kept, next []byte = nil, make([]byte, 128<<10)
	spare := make([]byte, len(next))
	if err := control.SetReadDeadline(time.Time{}); err != nil { // that of the request has passed when this takes long
		return err
	}
	for {
		n, err := io.ReadFull(from, next)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if deadline := control.SetWriteDeadline(time.Now().Add(writePatience)); deadline != nil {
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

// disposition makes a browser keep what comes, under the last part of a path (RFC 6266, with RFC 8187 for what is not ASCII).
func disposition(path []byte) string {
	name := fileName(path)
	plain := strings.Map(func(r rune) rune {
		if r > unicode.MaxASCII || strings.ContainsRune("\"\\%", r) { // a percent sign is unescaped by some (RFC 6266, appendix D)
			return '_'
		}
		return r
	}, name)
	return fmt.Sprintf(`attachment; filename="%s"; filename*=UTF-8''%s`, plain, extended(name))
}

// fileName is what a file is called where it is kept: the name says what it is, so nothing in it may be hidden, reorder it, or
// mean something to a file system.
func fileName(path []byte) string {
	base := string(path[strings.LastIndexByte(string(path), '/')+1:])
	if !utf8.ValidString(base) {
		base = outputs.Escape([]byte(base))
	}
	name := strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) && r != ' ' || strings.ContainsRune(`/\:*?"<>|`, r) {
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

// extended is a text as RFC 8187 has it, value-chars: what is no attr-char is escaped.
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
