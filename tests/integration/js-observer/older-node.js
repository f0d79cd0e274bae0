// js-libp2p uses what Node has from version 22 on.

Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new this((...both) => { [resolve, reject] = both })
  return { promise, resolve, reject }
}
