package canary

import (
	"encoding/binary"
	"errors"
	"net"
	"time"
)

// A DNS message (RFC 1035, section 4): 12 bytes of header, then one question.
const (
	header   = 12
	response = 0x80 // in the third byte
	MaxDNS   = 512  // bytes, over UDP
)

// question asks for the address of localhost, which every name server answers itself.
func question(id uint16) []byte {
	message := binary.BigEndian.AppendUint16(nil, id)
	message = append(message, 0x01, 0x00, 0, 1, 0, 0, 0, 0, 0, 0) // recursion desired, one question
	message = append(message, 9)
	message = append(message, "localhost"...)
	return append(message, 0, 0, 1, 0, 1) // the root, A, IN
}

// ReplyDNS answers a question with an address for documentation (RFC 5737). It returns nil if asked is no question.
func ReplyDNS(asked []byte) []byte {
	if len(asked) < header+5 || asked[2]&response != 0 {
		return nil
	}
	answer := append([]byte(nil), asked...)
	answer[2] |= response
	answer[7] = 1                                            // one answer
	answer = append(answer, 0xc0, header, 0, 1, 0, 1)        // the name of the question, A, IN
	return append(answer, 0, 0, 0, 0, 0, 4, 192, 0, 2, 0x01) // TTL 0, four bytes
}

// askDNS sends a question to a name server and waits for the answer.
func askDNS(server string) error {
	c, err := net.DialTimeout("udp", server, Timeout)
	if err != nil {
		return err
	}
	defer c.Close()
	id := uint16(time.Now().UnixNano())
	if err := c.SetDeadline(time.Now().Add(Timeout)); err != nil {
		return err
	}
	if _, err := c.Write(question(id)); err != nil {
		return err
	}
	answer := make([]byte, MaxDNS)
	n, err := c.Read(answer)
	if err != nil {
		return err
	}
	if n < header || binary.BigEndian.Uint16(answer) != id || answer[2]&response == 0 {
		return errors.New("no answer to what was asked")
	}
	return nil
}
