"""The store in PostgreSQL: sessions that several machines share, with one owner each and watchers anywhere.

psycopg 3 comes with the extra `postgres` and is imported when a store is first used.
"""
