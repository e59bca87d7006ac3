"""The sessions that other processes of this user have open: found, cancelled and watched through their sockets."""
