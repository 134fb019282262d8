package main

import (
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

const messageLength = 512

func must(err error) {
	if err != nil {
		refuse(err.Error())
	}
}

func loopback(network string) string {
	if network == "tcp6" {
		return "[::1]:0"
	}
	return "127.0.0.1:0"
}

func withDeadline(c net.Conn) { must(c.SetDeadline(time.Now().Add(time.Hour))) } // does not pass during the benchmark

// echo sends messages back until the other side has closed.
func echo(c net.Conn) {
	defer c.Close()
	withDeadline(c)
	var message [messageLength]byte
	for {
		if _, err := io.ReadFull(c, message[:]); err != nil {
			return
		}
		if _, err := c.Write(message[:]); err != nil {
			return
		}
	}
}

func dial(network string, listener net.Listener) net.Conn {
	c, err := net.Dial(network, listener.Addr().String())
	must(err)
	withDeadline(c)
	return c
}

func pingPong(c net.Conn, message []byte) {
	_, err := c.Write(message)
	must(err)
	_, err = io.ReadFull(c, message)
	must(err)
}

func listen(network string) net.Listener {
	listener, err := net.Listen(network, loopback(network))
	must(err)
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go echo(c)
		}
	}()
	return listener
}

// clients runs as many clients at the same time as Go's suite, with b.N operations in all.
func clients(b *testing.B, work func(share int)) {
	count := 2 * runtime.GOMAXPROCS(0)
	var group sync.WaitGroup
	for i := 0; i < count; i++ {
		share := b.N / count
		if i < b.N%count {
			share++
		}
		group.Add(1)
		go func() {
			defer group.Done()
			work(share)
		}()
	}
	group.Wait()
}

// oneShot makes a connection for each operation.
func oneShot(network string) func(b *testing.B, variant string) {
	return func(b *testing.B, _ string) {
		listener := listen(network)
		defer listener.Close()
		b.ResetTimer()
		clients(b, func(share int) {
			message := make([]byte, messageLength)
			for i := 0; i < share; i++ {
				c := dial(network, listener)
				pingPong(c, message)
				c.Close()
			}
		})
	}
}

// persistent makes one connection.
func persistent(network string) func(b *testing.B, variant string) {
	return func(b *testing.B, _ string) {
		listener := listen(network)
		defer listener.Close()
		b.ResetTimer()
		clients(b, func(share int) {
			c := dial(network, listener)
			defer c.Close()
			message := make([]byte, messageLength)
			for i := 0; i < share; i++ {
				pingPong(c, message)
			}
		})
	}
}

func setReadDeadline(b *testing.B, _ string) {
	listener, err := net.Listen("tcp4", loopback("tcp4"))
	must(err)
	defer listener.Close()
	c, err := net.Dial("tcp4", listener.Addr().String())
	must(err)
	defer c.Close()
	must(c.SetWriteDeadline(time.Now().Add(2 * time.Hour)))
	deadline := time.Now().Add(time.Hour)
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		must(c.SetReadDeadline(deadline))
		deadline = deadline.Add(1)
	}
}
